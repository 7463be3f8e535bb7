public import TandemModel

/// Where the objects of a list stand, without their values: sort key, section, and what each reaches over its to-one key paths.
///
/// It is what a list of many rows needs to be held and kept in order; their rows would be fifty times as many allocations. All is in
/// arrays of plain numbers and bytes, one element an object or hop, in the list's order.
public struct ListPlaces: Hashable, Sendable {
    /// The objects in the list's order.
    public private(set) var objects: [ObjectReference] = []
    /// The sort keys, one behind the other.
    private var keys: [UInt8] = []
    /// Where each sort key ends.
    private var keyEnds: [Int] = []
    /// The names of sections, each once.
    public private(set) var sections: [String] = []
    /// For each object the place of its section's name.
    private var sectionPlaces: [UInt32] = []
    /// What is reached, each once.
    public private(set) var reached: [ObjectReference] = []
    /// How many hops there are from an object.
    public private(set) var hops = 0
    /// All ``links(_:)`` one behind the other.
    public private(set) var links: [UInt32] = []

    /// No objects, in a list whose paths have so many hops, each of which leads to some of those reached.
    public init(sections: [String] = [], reached: [ObjectReference] = [], hops: Int = 0) {
        self.sections = sections
        self.reached = reached
        self.hops = hops
    }

    /// The same, or without hops and links where these reach more objects than that.
    public func withLinks(upTo count: Int) -> ListPlaces {
        guard reached.count > count else { return self }
        var places = self
        (places.reached, places.hops, places.links) = ([], 0, [])
        return places
    }

    /// How many objects there are.
    public var count: Int { objects.count }

    /// Makes room for so many objects with so many bytes of keys.
    public mutating func reserveCapacity(_ count: Int, keyBytes: Int) {
        objects.reserveCapacity(count)
        keys.reserveCapacity(keyBytes)
        keyEnds.reserveCapacity(count)
        sectionPlaces.reserveCapacity(count)
        links.reserveCapacity(count * hops)
    }

    /// Adds the next object, with as many links as there are hops.
    public mutating func append(
        _ object: ObjectReference, key: UnsafeRawBufferPointer, section: UInt32,
        links more: ArraySlice<UInt32>
    ) {
        precondition(more.count == hops, "Each object has a link for each hop.")
        objects.append(object)
        keys.append(contentsOf: key)
        keyEnds.append(keys.count)
        sectionPlaces.append(section)
        links.append(contentsOf: more)
    }

    /// The sort key of an object.
    public func key(_ index: Int) -> ArraySlice<UInt8> {
        keys[(index == 0 ? 0 : keyEnds[index - 1])..<keyEnds[index]]
    }

    /// The place of the name of an object's section.
    public func sectionPlace(_ index: Int) -> UInt32 { sectionPlaces[index] }

    /// What an object reaches, hop by hop: the place among those reached, from 1 on; 0 where a path ends before.
    public func links(_ index: Int) -> ArraySlice<UInt32> {
        links[index * hops..<(index + 1) * hops]
    }
}

/// What a list that is opened needs to know of its objects beyond their order.
public struct ListDetails: Hashable, Sendable {
    /// The key path of section names; nil for none.
    public var sectionKeyPath: String?
    /// The key paths whose values refresh a row.
    public var refreshKeyPaths: [String]
    /// To-one key paths from the objects on, by the names of their relationships; each is a hop of ``ListPlaces``.
    public var hops: [[String]]
    /// With no more objects than this the rows are wanted; with more their places.
    public var rowsUpTo: UInt32

    /// Details of the given content.
    public init(
        sectionKeyPath: String? = nil, refreshKeyPaths: [String] = [], hops: [[String]] = [],
        rowsUpTo: UInt32 = 0
    ) {
        self.sectionKeyPath = sectionKeyPath
        self.refreshKeyPaths = refreshKeyPaths
        self.hops = hops
        self.rowsUpTo = rowsUpTo
    }
}

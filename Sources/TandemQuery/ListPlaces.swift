public import TandemModel

/// Where the objects of a list stand, without their values: sort key, section, and what each reaches over its to-one key paths.
///
/// It is what a list of many rows needs to be held and kept in order; their rows would be fifty times as many allocations. All is in
/// arrays of plain numbers and bytes, one element an object in the list's order, or a run of objects of which something is the same: in a
/// sectioned list section and links come in such runs.
///
///     places.withKeys { keys, ends in … }     // keys one behind the other, and where each ends
///     for run in places.sectionRuns { … }     // up to which object, which section
public struct ListPlaces: Hashable, Sendable {
    /// Objects one behind the other that have something in common.
    public struct Run: Hashable, Sendable {
        /// Behind which object it ends; it begins where the one before ends.
        public var end: Int
        /// What they have in common.
        public var value: UInt32

        /// A run that ends behind so many objects.
        public init(end: Int, value: UInt32) {
            self.end = end
            self.value = value
        }
    }

    /// The numbers of the objects in the list's order.
    public package(set) var numbers: [ObjectNumber] = []
    /// The tags of their entities.
    public package(set) var tagRuns: [Run] = []
    /// The sort keys, one behind the other.
    package var keys: [UInt8] = []
    /// Where each sort key ends.
    package var keyEnds: [UInt32] = []
    /// The names of sections, each once.
    public private(set) var sections: [String] = []
    /// The places of their sections' names.
    public package(set) var sectionRuns: [Run] = []
    /// What is reached, each once.
    public private(set) var reached: [ObjectReference] = []
    /// For each hop, the place among those reached, from 1 on; 0 where a path ends before.
    public package(set) var linkRuns: [[Run]] = []

    /// No objects, in a list whose paths have so many hops, each of which leads to some of those reached.
    public init(sections: [String] = [], reached: [ObjectReference] = [], hops: Int = 0) {
        self.sections = sections
        self.reached = reached
        linkRuns = [[Run]](repeating: [], count: hops)
    }

    /// The same, or without hops and links where these reach more objects than that.
    public func withLinks(upTo count: Int) -> ListPlaces {
        guard reached.count > count else { return self }
        var places = self
        (places.reached, places.linkRuns) = ([], [])
        return places
    }

    /// How many objects there are.
    public var count: Int { numbers.count }

    /// About the bytes that its objects take.
    public var bytes: Int { count * 12 + keys.count }

    /// How many hops there are from an object.
    public var hops: Int { linkRuns.count }

    /// Makes room for so many objects with so many bytes of keys.
    public mutating func reserveCapacity(_ count: Int, keyBytes: Int) {
        numbers.reserveCapacity(count)
        keys.reserveCapacity(keyBytes)
        keyEnds.reserveCapacity(count)
    }

    /// Adds the next object with the two parts of its key, one of which may be empty; its links are added beside it (``append(link:hop:)``).
    ///
    /// All keys together have less than 4 GiB, or it traps.
    public mutating func append(
        _ object: ObjectReference, key: UnsafeRawBufferPointer,
        _ rest: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        section: UInt32
    ) {
        numbers.append(object.number)
        tagRuns.add(UInt32(object.tag), end: count)
        keys.append(contentsOf: key)
        keys.append(contentsOf: rest)
        keyEnds.append(UInt32(keys.count))
        sectionRuns.add(section, end: count)
    }

    /// What is added of an object whose key begins as others' do.
    package struct Placed {
        package var object: ObjectReference
        /// What comes behind the beginning of its key.
        package var rest: UnsafeRawBufferPointer
        /// The place of its section's name.
        package var section: UInt32
        /// What it reaches by the hop, of which there is one at most.
        package var link: UInt32

        @inlinable @inline(__always)
        package init(
            _ object: ObjectReference, rest: UnsafeRawBufferPointer, section: UInt32, link: UInt32
        ) {
            (self.object, self.rest, self.section, self.link) = (object, rest, section, link)
        }
    }

    /// Adds objects whose keys begin alike: the same as one after the other, column by column, so that each takes a few nanoseconds.
    ///
    /// With `givesKeys` false they have no keys. There is one hop, or none.
    package mutating func append(
        _ placed: UnsafeBufferPointer<Placed>, prefix: UnsafeRawBufferPointer, givesKeys: Bool
    ) {
        let start = numbers.count
        numbers.append(addingCapacity: placed.count) { span in
            for one in placed { span.append(one.object.number) }
        }
        if givesKeys { appendKeys(placed, prefix) }
        tagRuns.add(placed, from: start) { UInt32($0.object.tag) }
        sectionRuns.add(placed, from: start) { $0.section }
        if !linkRuns.isEmpty { linkRuns[0].add(placed, from: start) { $0.link } }
    }

    private mutating func appendKeys(
        _ placed: UnsafeBufferPointer<Placed>, _ prefix: UnsafeRawBufferPointer
    ) {
        var bytes = keys.count
        keyEnds.append(addingCapacity: placed.count) { span in
            for one in placed {
                bytes += prefix.count + one.rest.count
                span.append(UInt32(bytes))
            }
        }
        keys.append(addingCapacity: bytes - keys.count) { span in
            span.withUnsafeMutableBufferPointer { room, count in
                guard let base = room.baseAddress else { return }
                // Up to where the last one ends, all of them have room.
                var end = UnsafeMutableRawPointer(base + count)
                for one in placed {
                    end = end.copied(prefix)
                    end = end.copied(one.rest)
                }
                count = end - UnsafeMutableRawPointer(base)
            }
        }
    }

    /// Adds what the last object reaches by a hop: a place among those reached, from 1 on, or 0.
    public mutating func append(link: UInt32, hop: Int) { linkRuns[hop].add(link, end: count) }

    /// Calls `body` with the sort keys one behind the other, and where each ends.
    public func withKeys<Result>(
        _ body: (UnsafeRawBufferPointer, UnsafeBufferPointer<UInt32>) -> Result
    ) -> Result {
        keys.withUnsafeBytes { keys in keyEnds.withUnsafeBufferPointer { body(keys, $0) } }
    }

    // MARK: One object

    /// An object; its runs are searched for it.
    public func object(_ index: Int) -> ObjectReference {
        ObjectReference(
            tag: EntityTag(truncatingIfNeeded: tagRuns.value(at: index)), number: numbers[index])
    }

    /// The sort key of an object.
    public func key(_ index: Int) -> ArraySlice<UInt8> {
        keys[Int(index == 0 ? 0 : keyEnds[index - 1])..<Int(keyEnds[index])]
    }

    /// The place of the name of an object's section.
    public func sectionPlace(_ index: Int) -> UInt32 { sectionRuns.value(at: index) }

    /// What an object reaches, hop by hop: the place among those reached, from 1 on; 0 where a path ends before.
    public func links(_ index: Int) -> [UInt32] { linkRuns.map { $0.value(at: index) } }
}

extension [ListPlaces.Run] {
    /// Lets the last run go on to an end, or a new one if it is of another value.
    @inline(__always)
    mutating func add(_ value: UInt32, end: Int) {
        if let last = indices.last, self[last].value == value {
            self[last].end = end
        } else {
            append(ListPlaces.Run(end: end, value: value))
        }
    }

    /// Lets objects from one on have a value each.
    @inline(__always)
    fileprivate mutating func add(
        _ placed: UnsafeBufferPointer<ListPlaces.Placed>, from start: Int,
        _ value: (ListPlaces.Placed) -> UInt32
    ) {
        var at = 0
        while at < placed.count {
            let first = value(placed[at])
            repeat { at += 1 } while at < placed.count && value(placed[at]) == first
            add(first, end: start + at)
        }
    }

    /// What the object at an index has.
    fileprivate func value(at index: Int) -> UInt32 { self[self.index(of: index)].value }

    /// The run that an object belongs to.
    func index(of object: Int) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].end <= object { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension UnsafeMutableRawPointer {
    /// Copies bytes here; returns where they end.
    @inline(__always)
    fileprivate func copied(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        guard let source = bytes.baseAddress else { return self }
        copyShort(from: source, count: bytes.count)
        return self + bytes.count
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

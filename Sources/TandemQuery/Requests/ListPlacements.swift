import Algorithms
public import TandemModel

/// The placements of a list's objects, without their values: sort key, section, and the objects at
/// the ends of its to-one key paths.
///
/// Placements are sufficient for keeping a list of many rows in order; the rows themselves would
/// take fifty times as many allocations. Placements are stored in arrays of numbers and bytes, with
/// one element for each object in the list's order, or for each run of objects with the same value.
/// In a sectioned list, the objects of a section form such runs.
///
///     places.withKeys { keys, ends in … }     // the concatenated keys, and their ends
///     for run in places.sectionRuns { … }     // the end of the run, and its section
@usableFromInline package struct ListPlacements: Hashable, Sendable {
    /// Consecutive objects with the same value.
    package struct Run: Hashable, Sendable {
        /// The index after the last object; the run begins at the end of the previous run.
        package var end: Int
        /// The common value.
        package var value: UInt32

        /// Creates a run.
        package init(end: Int, value: UInt32) {
            self.end = end
            self.value = value
        }
    }

    /// The numbers of the objects in the list's order.
    package var numbers: [ObjectNumber] = []
    /// The tags of the objects' entities.
    package var tagRuns: [Run] = []
    /// The concatenated sort keys.
    package var keys: [UInt8] = []
    /// The end of each sort key in ``keys``.
    package var keyEnds: [UInt32] = []
    /// The distinct names of sections.
    package private(set) var sections: [String] = []
    /// The indexes of the objects' section names in ``sections``.
    package var sectionRuns: [Run] = []
    /// The distinct objects at the ends of hops.
    package private(set) var reached: [ObjectReference] = []
    /// For each hop, the 1-based index in ``reached``; 0 if the path has an empty relationship.
    package var linkRuns: [[Run]] = []

    /// Creates an empty list with sections, reached objects and a number of hops.
    package init(sections: [String] = [], reached: [ObjectReference] = [], hopCount: Int = 0) {
        self.sections = sections
        self.reached = reached
        linkRuns = [[Run]](repeating: [], count: hopCount)
    }

    /// Returns the same placements, but without hops and links if these reach more than `count`
    /// objects.
    package func withLinks(upTo count: Int) -> ListPlacements {
        guard reached.count > count else { return self }
        var places = self
        (places.reached, places.linkRuns) = ([], [])
        return places
    }

    /// The number of objects.
    package var count: Int { numbers.count }

    /// The approximate size of numbers and keys in bytes.
    package var bytes: Int { count * 12 + keys.count }

    /// The number of hops of an object.
    package var hopCount: Int { linkRuns.count }

    /// Reserves capacity for a number of objects and the bytes of their keys.
    package mutating func reserveCapacity(_ count: Int, keyBytes: Int) {
        numbers.reserveCapacity(count)
        keys.reserveCapacity(keyBytes)
        keyEnds.reserveCapacity(count)
    }

    /// Appends an object with the two parts of its key, one of which may be empty.
    ///
    /// The object's links are appended separately (``append(link:hop:)``). Traps if all keys
    /// together have 4 GiB or more.
    package mutating func append(
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

    /// The placement of an object whose key begins with a shared prefix.
    @usableFromInline package struct Placed {
        @usableFromInline package var object: ObjectReference
        /// The key after the prefix.
        @usableFromInline package var rest: UnsafeRawBufferPointer
        /// The index of the section's name.
        @usableFromInline package var section: UInt32
        /// The 1-based index in ``reached`` of the object at the end of the hop; 0 if there is
        /// none.
        @usableFromInline package var link: UInt32

        @inlinable @inline(__always)
        package init(
            _ object: ObjectReference, rest: UnsafeRawBufferPointer, section: UInt32, link: UInt32
        ) {
            (self.object, self.rest, self.section, self.link) = (object, rest, section, link)
        }
    }

    /// Appends objects whose keys have a common prefix.
    ///
    /// The effect is the same as appending the objects one by one. They are written column by
    /// column, which takes only a few nanoseconds per object. If `includesKeys` is false, no keys
    /// are stored. The list must have at most one hop.
    package mutating func append(
        _ placed: UnsafeBufferPointer<Placed>, prefix: UnsafeRawBufferPointer, includesKeys: Bool
    ) {
        let start = numbers.count
        numbers.append(addingCapacity: placed.count) { span in
            for one in placed { span.append(one.object.number) }
        }
        if includesKeys { appendKeys(placed, prefix) }
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
                // Capacity was reserved for all bytes up to the end of the last key.
                var end = UnsafeMutableRawPointer(base + count)
                for one in placed {
                    end = end.copied(prefix)
                    end = end.copied(one.rest)
                }
                count = end - UnsafeMutableRawPointer(base)
            }
        }
    }

    /// Appends the link of the last object for a hop: a 1-based index in ``reached``, or 0.
    package mutating func append(link: UInt32, hop: Int) { linkRuns[hop].add(link, end: count) }

    /// Calls `body` with the concatenated sort keys and the end of each.
    package func withKeys<Result>(
        _ body: (UnsafeRawBufferPointer, UnsafeBufferPointer<UInt32>) -> Result
    ) -> Result {
        keys.withUnsafeBytes { keys in keyEnds.withUnsafeBufferPointer { body(keys, $0) } }
    }

    // MARK: Single objects

    /// Returns an object, by a binary search in the runs of tags.
    package func object(_ index: Int) -> ObjectReference {
        ObjectReference(
            tag: EntityTag(truncatingIfNeeded: tagRuns.value(at: index)), number: numbers[index])
    }

    /// Returns the sort key of an object.
    package func key(_ index: Int) -> ArraySlice<UInt8> {
        keys[Int(index == 0 ? 0 : keyEnds[index - 1])..<Int(keyEnds[index])]
    }

    /// Returns the index of the name of an object's section.
    package func sectionIndex(_ index: Int) -> UInt32 { sectionRuns.value(at: index) }

    /// Returns the links of an object, one for each hop: 1-based indexes in ``reached``, or 0
    /// for none.
    package func links(_ index: Int) -> [UInt32] { linkRuns.map { $0.value(at: index) } }
}

extension [ListPlacements.Run] {
    /// Extends the last run to `end`, or appends a run if the value differs.
    @inline(__always)
    mutating func add(_ value: UInt32, end: Int) {
        if let last = indices.last, self[last].value == value {
            self[last].end = end
        } else {
            append(ListPlacements.Run(end: end, value: value))
        }
    }

    /// Appends the values of objects, the first of which has the index `start`.
    @inline(__always)
    fileprivate mutating func add(
        _ placed: UnsafeBufferPointer<ListPlacements.Placed>, from start: Int,
        _ value: (ListPlacements.Placed) -> UInt32
    ) {
        var at = 0
        while at < placed.count {
            let first = value(placed[at])
            repeat { at += 1 } while at < placed.count && value(placed[at]) == first
            add(first, end: start + at)
        }
    }

    /// Returns the value of the object at an index.
    fileprivate func value(at index: Int) -> UInt32 { self[self.index(of: index)].value }

    /// Returns the index of an object's run.
    func index(of object: Int) -> Int {
        partitioningIndex { $0.end > object }
    }
}

extension UnsafeMutableRawPointer {
    /// Copies bytes to this address; returns the end.
    @inline(__always)
    fileprivate func copied(_ bytes: UnsafeRawBufferPointer) -> UnsafeMutableRawPointer {
        guard let source = bytes.baseAddress else { return self }
        copyInline(from: source, count: bytes.count)
        return self + bytes.count
    }
}

/// The details of objects that a list needs in addition to their order.
package struct ListDetails: Hashable, Sendable {
    /// The key path of section names; nil for none.
    package var sectionKeyPath: String?
    /// The key paths whose values refresh a row.
    package var refreshKeyPaths: [String]
    /// To-one key paths of the objects, as relationship names; each is a hop of ``ListPlacements``.
    package var hops: [[String]]
    /// The number of objects up to which rows are requested; above it, placements are requested.
    package var rowsUpTo: UInt32

    /// Creates details.
    package init(
        sectionKeyPath: String? = nil, refreshKeyPaths: [String] = [], hops: [[String]] = [],
        rowsUpTo: UInt32 = 0
    ) {
        self.sectionKeyPath = sectionKeyPath
        self.refreshKeyPaths = refreshKeyPaths
        self.hops = hops
        self.rowsUpTo = rowsUpTo
    }
}

package import TandemModel

/// A builder of sort keys in two parts: a shared prefix that depends on a related object, and the
/// rest of each object's key.
///
/// In a list by `bucket.name`, then by date, all objects of a bucket share the prefix. The prefix
/// is encoded and stored once, and looked up by the bucket's number. To sort the objects, the few
/// prefixes are sorted first, and then the objects of each group by the rest of their keys.
///
/// The prefix is the longest run of leading components whose paths have one hop, over the same
/// to-one relationship. A request without any such component has one group, with an empty prefix.
///
///     let keys = GroupedKeys(of: request)
///     if let placement = keys.placement(of: object, row, reader) {
///         arena.add(object, keys.rest.bytes, in: placement.group)
///     }
///
/// Both parts together are the key that ``CompiledRequest/sortKey(_:_:_:)`` returns. Call
/// ``forgetRelated()`` whenever rows may have changed. Cost: two hash table lookups for an object
/// whose related object is cached. Bound to one thread.
package final class GroupedKeys {
    /// The placement of an object, without the ``rest`` of its key.
    package struct Placement {
        /// The index of the prefix.
        package var group: UInt32
        /// The index of the section's name; 0 if sections are not requested.
        package var section: UInt32
        /// The index of the related object's entry, valid until ``forgetRelated()``; negative if
        /// there is no related object.
        package var related: Int
    }

    /// One component of the rest of a key.
    private enum Part {
        case own(slot: Int, ascending: Bool)
        case related(Int)
        case other(Int)
    }

    private enum Naming {
        case one
        case related
        case each
    }

    private let request: CompiledRequest
    /// The relationship's slot; nil if neither the order nor the sections have a path through one.
    package let slot: Int?
    private let leading: Int
    private let parts: [Part]
    private let naming: Naming
    private var cache = RelatedKeyCache()
    private var withoutRelated: RelatedKeyCache.Entry?
    /// The components after the prefix whose values are in the related object, at the index of its
    /// entry plus one; index 0 is for objects without a related object.
    ///
    /// Empty if there are no such components.
    private var laterComponents: [[[UInt8]]] = []
    private var groupsByPrefix: [[UInt8]: UInt32] = [:]
    /// The rest of the key of the most recently placed object.
    package private(set) var rest = KeyEncoder()
    /// The prefixes, by group.
    package private(set) var prefixes: [[UInt8]] = []
    /// The distinct names of sections.
    package private(set) var sections: [String] = []
    private var sectionIndexes: [String: UInt32] = [:]
    /// The approximate size, in bytes, of the entries of related objects, the prefixes and the
    /// names.
    package private(set) var bytes = 0

    /// The part of ``bytes`` taken up by the entries of related objects.
    private var relatedBytes = 0

    /// Creates a builder of a request's keys and, if `sections` is true, of section names.
    package init(of request: CompiledRequest, sections: Bool = false) {
        self.request = request
        let slot = request.groupingSlot
        self.slot = slot
        leading = request.sort.prefix { $0.path.isOneHop(over: slot) }.count
        parts = request.sort.indices.dropFirst(leading).map { at in
            let (path, key) = (request.sort[at].path, request.sort[at].key)
            if let own = path.ownSlot, key.selector == .compare {
                return .own(slot: own, ascending: key.ascending)
            }
            return path.isOneHop(over: slot) ? .related(at) : .other(at)
        }
        switch request.sectionPath {
        case let path? where sections: naming = path.isOneHop(over: slot) ? .related : .each
        default: naming = .one
        }
        guard slot == nil, case .one = naming else { return }
        // The only group and section are known without reading anything.
        withoutRelated = RelatedKeyCache.Entry(group: group([]), section: index(ofSection: ""))
    }

    /// Returns the size of a group's prefix in bytes.
    package func prefixBytes(_ group: UInt32) -> Int { prefixes[Int(group)].count }

    /// Whether keys have a prefix.
    package var isGrouped: Bool { leading > 0 }

    /// Returns whether one group sorts before another.
    package func precedes(_ group: UInt32, _ other: UInt32) -> Bool {
        prefixes[Int(group)].lexicographicallyPrecedes(prefixes[Int(other)])
    }

    /// Discards the entries of related objects, which may have changed.
    package func forgetRelated() {
        cache.removeAll()
        withoutRelated = nil
        laterComponents.removeAll(keepingCapacity: true)
        bytes -= relatedBytes
        relatedBytes = 0
    }

    /// Returns the placement of an object; nil if the reader lacks a related object.
    package func placement<R: GraphReader & ~Copyable>(
        of object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> Placement? {
        guard let entity = row.tag == request.entity.tag ? request.entity : other(row.tag),
            let (index, entry) = related(object, row, entity, reader)
        else { return nil }
        rest.removeAll()
        for part in parts {
            switch part {
            case .own(let slot, let ascending):
                rest.append(slot, of: row, in: entity, ascending: ascending)
            case .related(let at): rest.append(encoded: laterComponents[index + 1][at])
            case .other(let at):
                guard let evaluation = request.evaluation(object, row),
                    request.append(at, of: evaluation, reader, to: &rest)
                else { return nil }
            }
        }
        guard case .each = naming else {
            return Placement(group: entry.group, section: entry.section, related: index)
        }
        guard let name = name(object, row, reader) else { return nil }
        return Placement(group: entry.group, section: self.index(ofSection: name), related: index)
    }

    // MARK: Placement by an index

    /// The components of the rest, if all of them are columns of the row and the section does not
    /// depend on the row.
    ///
    /// The keys of an index over these columns and the relationship then determine the placement
    /// (``placement(knowing:)``). The value is nil in all other cases.
    package var restColumns: [SortColumn]? {
        if case .each = naming { return nil }
        var columns: [SortColumn] = []
        for part in parts {
            guard case .own(let slot, let ascending) = part else { return nil }
            columns.append(SortColumn(slot: slot, ascending: ascending))
        }
        return columns
    }

    /// Returns the placement of an object from its related object alone; `related` is nil if there
    /// is none.
    ///
    /// The result is nil unless an object with the same related object was placed before, or
    /// placements do not depend on related objects.
    @inline(__always)
    package func placement(knowing related: ObjectNumber?) -> Placement? {
        guard let related else {
            return withoutRelated.map {
                Placement(group: $0.group, section: $0.section, related: -1)
            }
        }
        guard let index = cache.entryIndex(of: related) else { return nil }
        let entry = cache[index]
        return Placement(group: entry.group, section: entry.section, related: index)
    }

    private func other(_ tag: EntityTag) -> CompiledEntity? {
        request.entity.includes(tag) ? request.model.entity(tagged: tag) : nil
    }

    // MARK: Related objects

    /// Returns the entry of a row's related object and the entry's index; rows without a related
    /// object share an entry.
    @inline(__always)
    private func related<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ entity: CompiledEntity, _ reader: borrowing R
    ) -> (index: Int, entry: RelatedKeyCache.Entry)? {
        guard let slot, let target = row.reference(slot, in: entity) else {
            if let withoutRelated { return (-1, withoutRelated) }
            withoutRelated = loadEntry(-1, object, row, reader)
            return withoutRelated.map { (-1, $0) }
        }
        if let index = cache.entryIndex(of: target.number) { return (index, cache[index]) }
        guard let entry = loadEntry(cache.count, object, row, reader) else { return nil }
        bytes += RelatedKeyCache.bytesForOne
        relatedBytes += RelatedKeyCache.bytesForOne
        return (cache.add(entry, of: target.number), entry)
    }

    /// Reads the related object of `object`, and returns its entry, which the caller adds at index
    /// `index`.
    private func loadEntry<R: GraphReader & ~Copyable>(
        _ index: Int, _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> RelatedKeyCache.Entry? {
        guard let evaluation = request.evaluation(object, row) else { return nil }
        var prefix = KeyEncoder()
        for at in 0..<leading {
            guard request.append(at, of: evaluation, reader, to: &prefix) else { return nil }
        }
        guard loadComponents(index, evaluation, reader) else { return nil }
        var entry = RelatedKeyCache.Entry(group: group(prefix.bytes))
        switch naming {
        case .one: entry.section = self.index(ofSection: "")
        case .related:
            guard let name = name(object, row, reader) else { return nil }
            entry.section = self.index(ofSection: name)
        case .each: break
        }
        return entry
    }

    /// Reads the components of the related object after the prefix; returns false if the reader
    /// lacks an object.
    private func loadComponents<R: GraphReader & ~Copyable>(
        _ index: Int, _ evaluation: Evaluation, _ reader: borrowing R
    ) -> Bool {
        for case .related(let at) in parts {
            var component = KeyEncoder()
            guard request.append(at, of: evaluation, reader, to: &component) else { return false }
            while laterComponents.count <= index + 1 { laterComponents.append([]) }
            if laterComponents[index + 1].isEmpty {
                laterComponents[index + 1] = [[UInt8]](repeating: [], count: request.sort.count)
            }
            laterComponents[index + 1][at] = component.bytes
            bytes += component.bytes.count + 64
            relatedBytes += component.bytes.count + 64
        }
        return true
    }

    private func group(_ prefix: [UInt8]) -> UInt32 {
        if let group = groupsByPrefix[prefix] { return group }
        let group = UInt32(prefixes.count)
        prefixes.append(prefix)
        groupsByPrefix[prefix] = group
        bytes += prefix.count + 96
        return group
    }

    // MARK: Sections

    private func name<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> String? {
        guard let path = request.sectionPath else { return "" }
        return request.evaluation(object, row)?.value(path, reader)?.sectionName
    }

    private func index(ofSection name: String) -> UInt32 {
        if let index = sectionIndexes[name] { return index }
        sections.append(name)
        // The name is stored twice, in the array and in the table.
        bytes += 2 * name.utf8.count + 64
        sectionIndexes[name] = UInt32(sections.count - 1)
        return UInt32(sections.count - 1)
    }
}

extension CompiledPath {
    /// Returns whether the path has one hop, over the to-one relationship of a slot.
    func isOneHop(over slot: Int?) -> Bool {
        hops.count == 1 && root == 0 && !isToMany && hops[0].slot == slot
    }
}

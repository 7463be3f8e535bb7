public import TandemModel

/// Makes the sort keys of a request's objects in two parts: what a related object adds that many of them reach, once, and the rest of each.
///
/// In a list by `bucket.name`, then by date, the first part is the same for all that is in a bucket. So it is made and kept once, and found
/// by the bucket's number; to put the objects in order is to put the few first parts in order, and each group's rest. A first part
/// is the longest run of leading components that lead over one to-one relationship by one hop; a request without any has one group, of the empty first part.
///
///     let keys = GroupedKeys(of: request)
///     if let place = keys.place(of: object, row, reader) { arena.add(object, keys.rest.bytes, in: place.group) }
///
/// Both parts one behind the other are ``CompiledRequest/sortKey(_:_:_:)``. Whoever lets rows change calls ``forgetRelated()``.
/// Cost: two lookups for an object whose related one is known. Bound to one thread.
public final class GroupedKeys {
    /// Where an object stands, beside ``rest``.
    public struct Place {
        /// The place of its first part.
        public var group: UInt32
        /// The place of its section's name; 0 where sections are not asked for.
        public var section: UInt32
        /// The place of what is known of its related object, until that is forgotten; negative without one.
        public var related: Int
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
    /// The relationship by slot; nil if neither order nor section lead over one.
    public let slot: Int?
    private let leading: Int
    private let parts: [Part]
    private let naming: Naming
    // What is changed is changed here alone, by nobody who is called meanwhile.
    @exclusivity(unchecked) private var memo = RelatedMemo()
    @exclusivity(unchecked) private var withoutRelated: RelatedMemo.Known?
    /// The components behind the first part that related objects add, by their places behind that of none; empty where they add none.
    @exclusivity(unchecked) private var later: [[[UInt8]]] = []
    @exclusivity(unchecked) private var groupsByPrefix: [[UInt8]: UInt32] = [:]
    /// The rest of the key of the object that was placed last.
    @exclusivity(unchecked) public private(set) var rest = KeyEncoder()
    /// The first parts, by group.
    @exclusivity(unchecked) public private(set) var prefixes: [[UInt8]] = []
    /// The names of sections, each once.
    @exclusivity(unchecked) public private(set) var sections: [String] = []
    @exclusivity(unchecked) private var sectionPlaces: [String: UInt32] = [:]
    /// About the bytes of what is kept of related objects, first parts and names.
    @exclusivity(unchecked) public private(set) var bytes = 0

    /// What related objects take of them.
    @exclusivity(unchecked) private var relatedBytes = 0

    /// Keys of a request; with `sections` their names are made as well.
    public init(of request: CompiledRequest, sections: Bool = false) {
        self.request = request
        let slot = request.placingSlot
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
    }

    /// The bytes of the first part of a group's keys.
    public func prefixBytes(_ group: UInt32) -> Int { prefixes[Int(group)].count }

    /// Whether objects are told apart by a first part.
    public var isGrouped: Bool { leading > 0 }

    /// Whether one group comes before another, by their first parts.
    public func precedes(_ group: UInt32, _ other: UInt32) -> Bool {
        prefixes[Int(group)].lexicographicallyPrecedes(prefixes[Int(other)])
    }

    /// Forgets what related objects say, which may have changed.
    public func forgetRelated() {
        memo.removeAll()
        withoutRelated = nil
        later.removeAll(keepingCapacity: true)
        bytes -= relatedBytes
        relatedBytes = 0
    }

    /// Where an object stands; nil when the reader does not hold what that needs.
    public func place<R: GraphReader & ~Copyable>(
        of object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> Place? {
        guard let entity = row.tag == request.entity.tag ? request.entity : other(row.tag),
            let (place, known) = related(object, row, entity, reader)
        else { return nil }
        rest.removeAll()
        for part in parts {
            switch part {
            case .own(let slot, let ascending):
                rest.append(slot, of: row, in: entity, ascending: ascending)
            case .related(let at): rest.append(encoded: later[place + 1][at])
            case .other(let at):
                guard let evaluation = request.evaluation(object, row),
                    request.append(at, of: evaluation, reader, to: &rest)
                else { return nil }
            }
        }
        guard case .each = naming else {
            return Place(group: known.group, section: known.section, related: place)
        }
        guard let name = name(object, row, reader) else { return nil }
        return Place(group: known.group, section: self.place(ofSection: name), related: place)
    }

    // MARK: By an index

    /// The components of the rest, where all are columns of the object's own row and its section is not its own either; nil otherwise.
    ///
    /// Then an index with these columns and the relationship says where an object stands (``place(knowing:)``).
    public var restColumns: [SortColumn]? {
        if case .each = naming { return nil }
        var columns: [SortColumn] = []
        for part in parts {
            guard case .own(let slot, let ascending) = part else { return nil }
            columns.append(SortColumn(slot: slot, ascending: ascending))
        }
        return columns
    }

    /// Where an object stands of which only the related one is known, nil for none; nil until one with the same was placed.
    @inline(__always)
    public func place(knowing related: ObjectNumber?) -> Place? {
        guard let related else {
            return withoutRelated.map { Place(group: $0.group, section: $0.section, related: -1) }
        }
        guard let place = memo.place(of: related) else { return nil }
        let known = memo[place]
        return Place(group: known.group, section: known.section, related: place)
    }

    private func other(_ tag: EntityTag) -> CompiledEntity? {
        request.entity.includes(tag) ? request.model.entity(tagged: tag) : nil
    }

    // MARK: Related objects

    /// What is known of the object that a row's relationship leads to, or of none, with its place.
    @inline(__always)
    private func related<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ entity: CompiledEntity, _ reader: borrowing R
    ) -> (place: Int, known: RelatedMemo.Known)? {
        guard let slot, let target = row.reference(slot, in: entity) else {
            if let withoutRelated { return (-1, withoutRelated) }
            withoutRelated = learn(-1, object, row, reader)
            return withoutRelated.map { (-1, $0) }
        }
        if let place = memo.place(of: target.number) { return (place, memo[place]) }
        guard let known = learn(memo.count, object, row, reader) else { return nil }
        bytes += RelatedMemo.bytesForOne
        relatedBytes += RelatedMemo.bytesForOne
        return (memo.add(known, of: target.number), known)
    }

    /// What an object's related one says, which gets a place, by way of the object.
    private func learn<R: GraphReader & ~Copyable>(
        _ place: Int, _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> RelatedMemo.Known? {
        guard let evaluation = request.evaluation(object, row) else { return nil }
        var prefix = KeyEncoder()
        for at in 0..<leading {
            guard request.append(at, of: evaluation, reader, to: &prefix) else { return nil }
        }
        guard learnLater(place, evaluation, reader) else { return nil }
        var known = RelatedMemo.Known(group: group(prefix.bytes))
        switch naming {
        case .one: known.section = self.place(ofSection: "")
        case .related:
            guard let name = name(object, row, reader) else { return nil }
            known.section = self.place(ofSection: name)
        case .each: break
        }
        return known
    }

    /// Learns what a related object adds behind the first part; false when the reader does not hold that.
    private func learnLater<R: GraphReader & ~Copyable>(
        _ place: Int, _ evaluation: Evaluation, _ reader: borrowing R
    ) -> Bool {
        for case .related(let at) in parts {
            var component = KeyEncoder()
            guard request.append(at, of: evaluation, reader, to: &component) else { return false }
            while later.count <= place + 1 { later.append([]) }
            if later[place + 1].isEmpty {
                later[place + 1] = [[UInt8]](repeating: [], count: request.sort.count)
            }
            later[place + 1][at] = component.bytes
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

    private func place(ofSection name: String) -> UInt32 {
        if let place = sectionPlaces[name] { return place }
        sections.append(name)
        // The name, and its place in the table.
        bytes += 2 * name.utf8.count + 64
        sectionPlaces[name] = UInt32(sections.count - 1)
        return UInt32(sections.count - 1)
    }
}

extension CompiledPath {
    /// Whether it leads over the to-one relationship of a slot, and to a property of what is there.
    func isOneHop(over slot: Int?) -> Bool {
        hops.count == 1 && root == 0 && !isToMany && hops[0].slot == slot
    }
}

public import TandemModel
public import TandemQuery

/// A request for the one object that has a unique value, which needs no plan: `name == "Cameroon"` where names are unique.
///
/// It gives what ``StoreView/fetch(_:for:past:partBytes:budget:)`` gives for the same request, by two keys of the store and nothing else: no request is compiled, no candidates are collected, nothing is put
/// in order. What says more than that (another condition, an order, an offset, a value of another type than the property's, a text too
/// long for a row) is none.
///
///     if let lookup = KeyLookup(request, in: model) { objects = try store.objects(of: lookup) }
public struct KeyLookup: Sendable {
    fileprivate let entity: CompiledEntity
    fileprivate let index: CompiledIndex
    fileprivate let value: Value
    private let includesSubentities: Bool

    /// The look-up that a request comes to; nil for one that is more.
    public init?(_ request: FetchRequest, in model: CompiledModel) {
        guard request.sort.isEmpty, request.offset == 0, request.limit ?? 1 > 0,
            case .comparison(let comparison) = request.predicate,
            case (.keyPath(let path), .constant(let value)) = (comparison.left, comparison.right),
            comparison.op == .equal, comparison.quantifier == .direct, comparison.options.isEmpty,
            path.count == 1, let entity = model.entity(named: request.entity),
            let slot = entity.slot(of: path[0]),
            let index = entity.uniqueness.first(where: { $0.slots == [slot] }),
            let type = entity.properties[slot].attribute?.type, Self.isExact(value, as: type)
        else { return nil }
        (self.entity, self.index, self.value) = (entity, index, value)
        includesSubentities = request.includesSubentities
    }

    /// Whether a value is equal to one of the attribute's type where their bytes are, and only there.
    private static func isExact(_ value: Value, as type: AttributeType) -> Bool {
        switch (value, type) {
        case (.int, .int), (.uuid, .uuid): true
        case (.string(let text), .string): text.utf8.count <= BlobReference.inlineLimit
        default: false
        }
    }

    /// Whether an object of an entity can be found.
    fileprivate func includes(_ tag: EntityTag) -> Bool {
        tag == entity.tag || includesSubentities && entity.includes(tag)
    }

    /// Whether a row has the value, which another may have the key of.
    fileprivate func matches(_ row: RowView, of entity: CompiledEntity) -> Bool {
        let slot = index.slots[0]
        guard case .string(let text) = value else { return row.value(slot, in: entity) == value }
        // By bytes: texts that only look alike are different ones. What stands for a long text is no text.
        return row.content(slot, in: entity).map { text.utf8.elementsEqual($0) } ?? false
    }
}

extension StoreView {
    /// What a look-up finds, from the open write transaction, at ``appliedPosition``: an object or none.
    ///
    /// Cost: two keys and the row's bytes. Throws `damaged` as ``stored(_:)``.
    public func objects(of lookup: KeyLookup) throws(StoreError) -> StoredObjects {
        var tuple = KeyEncoder()
        tuple.append(lookup.value)
        let key = SmallKey(unique: lookup.index.id, StableHash(tuple.bytes))
        let open = try current
        guard let place = try open.get(tables.unique, key) else { return [] }
        let object = try holder(place)
        guard lookup.includes(object.tag), let entity = model?.entity(tagged: object.tag),
            let value = try open.get(tables.rows, SmallKey(row: object))
        else { return [] }
        let row = try rowView(object, at: value)
        guard lookup.matches(row, of: entity) else { return [] }
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        var found = StoredObjects()
        found.append(object, version: version, row: row.bytes)
        return found
    }
}

package import TandemModel
package import TandemQuery

/// A lookup of the only object with a unique value, which needs no plan.
///
/// An example is `name == "Cameroon"` if names are unique. The answer is the same as that of
/// ``StoreView/fetch(_:for:past:chunkBytes:budget:)``, but only two keys of the store are read, and
/// no request is compiled.
///
/// A request has no equivalent lookup if it has another condition, an order or an offset. The same
/// is true if the value's type differs from the property's, or if the value is a text too long for
/// a row.
///
///     if let lookup = KeyLookup(request, in: model) { objects = try lookup.objects(in: store) }
package struct KeyLookup: Sendable {
    private let entity: CompiledEntity
    private let index: CompiledIndex
    private let value: PropertyValue
    private let includesSubentities: Bool

    /// Creates the lookup that is equivalent to a request; nil if there is none.
    package init?(_ request: FetchDescriptor, in model: CompiledModel) {
        guard request.sort.isEmpty, request.offset == 0, request.limit ?? 1 > 0,
            case .comparison(let comparison) = request.predicate?.tree,
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

    /// Returns whether a stored value equals `value` if and only if their bytes are equal.
    private static func isExact(_ value: PropertyValue, as type: AttributeType) -> Bool {
        switch (value, type) {
        case (.int, .int), (.uuid, .uuid): true
        case (.string(let text), .string): text.utf8.count <= BlobReference.inlineLimit
        default: false
        }
    }

    /// Returns whether the lookup may find objects of an entity.
    private func includes(_ tag: EntityTag) -> Bool {
        tag == entity.tag || includesSubentities && entity.includes(tag)
    }

    /// Returns whether a row has the value.
    ///
    /// The check is needed because other values can have the same key.
    private func matches(_ row: RowView, of entity: CompiledEntity) -> Bool {
        let slot = index.slots[0]
        guard case .string(let text) = value else { return row.value(slot, in: entity) == value }
        // Bytes are compared, because canonically equivalent texts are different values. A
        // reference to a long text contains the byte FF, so it never equals the UTF-8 of a text.
        return row.content(slot, in: entity).map { text.utf8.elementsEqual($0) } ?? false
    }

    /// Returns the object of a view that has the value, or an empty collection.
    ///
    /// Cost: two keys and the row's bytes. Throws `damaged` like ``StoreView/stored(_:)``.
    package func objects(in view: StoreView) throws(StoreError) -> StoredObjects {
        var tuple = KeyEncoder()
        tuple.append(self.value)
        let key = SmallKey(unique: index.id, StableHash(tuple.bytes))
        let open = try view.current
        guard let place = try open.get(view.tables.unique, key) else { return [] }
        let object = try view.decoder.holder(place)
        guard includes(object.tag), let entity = view.model?.entity(tagged: object.tag),
            let value = try open.get(view.tables.rows, SmallKey(row: object))
        else { return [] }
        let row = try view.rowView(object, at: value)
        guard matches(row, of: entity) else { return [] }
        let version = UInt64(littleEndian: value.loadUnaligned(as: UInt64.self))
        var found = StoredObjects()
        found.append(object, version: version, row: row.bytes)
        return found
    }
}

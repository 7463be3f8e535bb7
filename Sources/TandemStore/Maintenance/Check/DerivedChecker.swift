import TandemModel

/// Checks derived attributes, which are computed from links or from other values of the row.
struct DerivedChecker {
    private let graph: CheckedGraph
    private let store: StoreView
    /// Whether folded texts can be checked.
    ///
    /// Texts folded with different Unicode tables can't be checked; the daemon folds them again,
    /// and logs a failure to do so.
    private let checksFolded: Bool

    init(_ graph: CheckedGraph, _ store: StoreView, checksFolded: Bool) {
        self.graph = graph
        self.store = store
        self.checksFolded = checksFolded
    }

    /// Compares the derived attributes of a row with the values computed from their sources.
    func check(
        _ stored: StoredObject, _ entity: CompiledEntity, _ report: inout StoreReport
    ) throws(StoreError) {
        var wrong: [SlotValue] = []
        for derivation in entity.derivations
        where derivation.kind != .folded || checksFolded {
            let source = stored.row.uncheckedValue(derivation.source, in: entity)
            let value = try store.derived(
                derivation, of: stored.object.number, entity, from: source
            ).inRow
            if stored.row.uncheckedValue(derivation.slot, in: entity) != value {
                wrong.append(SlotValue(slot: derivation.slot, value: value))
            }
        }
        guard !wrong.isEmpty else { return }
        let repairs = repairs(of: stored, wrong, entity)
        for item in wrong {
            let property = entity.properties[item.slot]
            let held = stored.row.uncheckedValue(item.slot, in: entity)
            report.add(
                StoreFinding(
                    .wrongDerived, .rows, StoreKey.row(stored.object),
                    object: graph.id(stored.object),
                    property: property.name,
                    "the value is \(Self.text(held)), but \(property.derivation?.description ?? "") is "
                        + Self.text(item.value), repairs))
        }
    }

    /// Returns the repairs of the row and its index entries.
    ///
    /// There are none if a long text is involved, because its content isn't stored in the row.
    private func repairs(
        of stored: StoredObject, _ wrong: [SlotValue], _ entity: CompiledEntity
    ) -> [StoreFinding.Repair] {
        let held = wrong.map { stored.row.uncheckedValue($0.slot, in: entity) }
        guard !wrong.contains(where: { $0.value.outside != nil }),
            !held.contains(where: { $0.outside != nil })
        else { return [] }
        let (object, row) = (stored.object, stored.row)
        let repaired = row.replacing(wrong, in: entity, version: row.modelVersion)
        let version = withUnsafeBytes(of: stored.version.littleEndian) { Array($0) }
        var repairs: [StoreFinding.Repair] = [
            .put(.rows, key: StoreKey.row(object), value: version + repaired.bytes)
        ]
        for index in entity.indexes
        where !index.mask.intersection(PropertyMask(wrong.map(\.slot))).isEmpty {
            let (old, new) = (
                StoreKey.index(index, row, entity, object.number),
                StoreKey.index(index, repaired, entity, object.number)
            )
            repairs.append(.delete(.indexes, key: old))
            repairs.append(.put(.indexes, key: new, value: StoreKey.tag(object.tag)))
        }
        return repairs
    }

    private static func text(_ value: PropertyValue) -> String {
        String(value.json.text.prefix(80))
    }
}

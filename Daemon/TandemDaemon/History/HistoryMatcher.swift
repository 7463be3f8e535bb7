import TandemModel
import TandemQuery
import TandemWire

/// A filter for the transactions of a history request.
struct HistoryMatcher {
    let condition: HistoryCondition
    let entities: Set<EntityTag>
    private let authors: Set<String>
    let objects: Set<ObjectReference>
    let properties: [EntityTag: PropertyMask]
    /// The position of the current model; earlier transactions have the slots of other models.
    let modelPosition: UInt64

    init(_ request: HistoryRequest, modelPosition: UInt64) {
        condition = request.condition
        entities = Set(request.interests)
        authors = Set(condition.authors)
        objects = Set(condition.objects)
        properties = condition.properties.reduce(into: [:]) {
            $0[$1.entity, default: PropertyMask()].insert($1.slot)
        }
        self.modelPosition = modelPosition
    }

    /// Returns the transaction reduced to the requested entities; nil if it does not match.
    ///
    /// Cost: nothing is decoded unless the condition requires it.
    func filtered(_ transaction: EncodedTransaction) throws(CodingError) -> EncodedTransaction? {
        // A history without interests is the complete log, including the end of a batch, which
        // changes nothing.
        let part =
            entities.isEmpty ? transaction.withoutBlobs : transaction.filtered(entities.contains)
        guard let part, !part.isModel else { return part }
        guard !condition.isOfModels else { return nil }
        guard try meetsHeader(part), try meetsChanges(part) else { return nil }
        return part
    }

    private func meetsHeader(_ transaction: EncodedTransaction) throws(CodingError) -> Bool {
        if let since = condition.since, transaction.time < since { return false }
        if let until = condition.until, transaction.time >= until { return false }
        if authors.isEmpty { return true }
        return authors.contains(try transaction.author())
    }

    private func meetsChanges(_ transaction: EncodedTransaction) throws(CodingError) -> Bool {
        guard !objects.isEmpty || !properties.isEmpty else { return true }
        let knowsSlots = transaction.position > modelPosition
        let changes = try transaction.changes()
        return changes.contains { change in
            (objects.isEmpty || objects.contains(change.object))
                && (properties.isEmpty || !knowsSlots || alters(change))
        }
    }

    private func alters(_ change: Change) -> Bool {
        guard let mask = properties[change.object.tag] else { return false }
        return change.kind == .delete || !change.changed.intersection(mask).isEmpty
    }
}

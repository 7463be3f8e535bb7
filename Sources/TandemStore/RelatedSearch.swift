import TandemModel
import TandemQuery

/// Finds the objects from which a relationship leads to one that another fetch finds, some at a time.
///
/// **Why the store may change meanwhile.** An object that no transaction touched, neither itself nor over a key path of the request, leads
/// to the same related object all the while, and that one has the same values and the same way back: so whenever the search
/// comes by, it finds it. All others are touched (``FetchCursor/touch(_:)``).
struct RelatedSearch {
    private let relationship: CompiledRelationship
    private let model: CompiledModel
    private let cursor: FetchCursor
    private var found: FoundReferences?
    private(set) var keysRead = 0
    private var ownRowsRead = 0

    init(
        _ condition: RelatedCondition, _ target: CompiledRequest, _ plan: FetchPlan, _ store: Store
    ) throws(StoreError) {
        relationship = condition.relationship
        model = target.model
        cursor = try FetchCursor(target, by: plan, for: .references, in: store)
    }

    /// About the bytes that it holds.
    var bytes: Int { cursor.bytes + (found?.bytes ?? 0) }

    /// How many rows of related objects were read.
    var rowsRead: Int { cursor.rowsRead + ownRowsRead }

    /// Appends what it finds to `result` until there is no more or `budget` is used up; true for the former.
    mutating func step(
        _ store: Store, _ budget: inout Int, _ result: inout [ObjectReference]
    ) throws(StoreError) -> Bool {
        if found == nil {
            guard try cursor.step(&budget) else { return false }
            found = cursor.references
            keysRead = cursor.keysRead
        }
        var targets: [ObjectReference] = []
        var isDone = false
        while budget > 0, !isDone {
            // A few at a time, as each may lead to many.
            var one = 1
            isDone =
                found?.step(&one) {
                    targets.append($0); return true
                } ?? true
            budget -= 1
            for target in targets {
                let count = result.count
                try goBack(from: target, store, &result)
                budget -= 1 + (result.count - count) / 8
            }
            targets = []
        }
        return isDone
    }

    /// Appends the objects from which the relationship leads to one.
    private mutating func goBack(
        from target: ObjectReference, _ store: Store, _ result: inout [ObjectReference]
    ) throws(StoreError) {
        guard let entity = model.entity(tagged: target.tag),
            entity.properties.indices.contains(relationship.inverseSlot),
            let inverse = entity.properties[relationship.inverseSlot].relationship
        else { return }
        if inverse.toMany {
            result += try store.members(of: target.number, inverse)
        } else if let row = try store.stored(target)?.row {
            ownRowsRead += 1
            result += row.reference(relationship.inverseSlot, in: entity).map { [$0] } ?? []
        }
    }
}

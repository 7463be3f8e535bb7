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
    /// What was found and not gone back from yet, and whether that is all.
    private var (targets, isFound): ([ObjectReference], Bool) = ([], false)
    /// The members of the last target that are yet to be read.
    private var members: KeyRange?
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
        while budget > 0 {
            if let range = members {
                members = try read(range, store, &budget, &result)
            } else if let target = targets.popLast() {
                budget -= 1
                try goBack(from: target, store, &result)
            } else if isFound {
                return true
            } else {
                // A few at a time, as each may lead to many.
                var one = 1
                isFound =
                    found?.step(&one) {
                        targets.append($0); return true
                    } ?? true
                budget -= 1
            }
        }
        return false
    }

    /// Appends the object to which a target's inverse leads, or lets its members be read next.
    private mutating func goBack(
        from target: ObjectReference, _ store: Store, _ result: inout [ObjectReference]
    ) throws(StoreError) {
        guard let entity = model.entity(tagged: target.tag),
            entity.properties.indices.contains(relationship.inverseSlot),
            let inverse = entity.properties[relationship.inverseSlot].relationship
        else { return }
        if inverse.toMany {
            members = KeyRange(prefix: StoreKey.links(inverse.linkID, of: target.number))
        } else if let row = try store.stored(target)?.row {
            ownRowsRead += 1
            result += row.reference(relationship.inverseSlot, in: entity).map { [$0] } ?? []
        }
    }

    /// Appends members, as many as there is budget for; returns what is left of their range.
    private func read(
        _ range: KeyRange, _ store: Store, _ budget: inout Int, _ result: inout [ObjectReference]
    ) throws(StoreError) -> KeyRange? {
        var (count, rest) = (0, KeyRange?.none)
        // A budget may be as large as there are numbers.
        let most = min(budget, .max / Self.membersForOne) * Self.membersForOne
        try store.current.scan(store.tables.links, from: range.lower) {
            (key, value) throws(StoreError) -> Bool in
            guard range.isBelowEnd(key) else { return false }
            guard count < most else {
                rest = KeyRange(lower: Array(key), upper: range.upper)
                return false
            }
            result.append(try store.object(endOf: key, value, in: .links))
            count += 1
            return true
        }
        budget -= count / Self.membersForOne
        return rest
    }

    /// So many members are read for one of a budget.
    private static var membersForOne: Int { 8 }
}

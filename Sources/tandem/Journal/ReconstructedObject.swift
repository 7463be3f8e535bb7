import Tandem

/// The state of an object at a position, reconstructed from the journal.
///
/// The journal is read backwards to the object's insertion, or to the journal's beginning.
struct ReconstructedObject {
    let id: ObjectID
    /// The first position of the journal.
    private(set) var oldest: UInt64 = 0
    /// The position of the object's deletion; nil if the object was not deleted.
    private(set) var deletedAt: UInt64?
    /// Whether the journal contains the object's insertion, so that all members are known.
    private(set) var isComplete = false
    /// The changes to the object, newest first.
    private var steps: [ObjectHistory.Step] = []
    /// The last change with a row.
    private var last: ObjectHistory.Step?

    /// Reads the changes backwards from a position.
    init(_ history: ObjectHistory, through top: UInt64) throws {
        id = history.id
        var (steps, last, gone) = ([ObjectHistory.Step](), ObjectHistory.Step?.none, UInt64?.none)
        oldest = try history.backwards(through: top) { step in
            switch step.change.kind {
            case .delete:
                gone = step.entry.transaction.position
                return false
            case .insert, .update: last = last ?? step
            case .touch: break
            }
            steps.append(step)
            return step.change.kind != .insert
        }
        (self.steps, self.last) = (steps, last)
        isComplete = steps.last?.change.kind == .insert
        deletedAt = last == nil ? gone : nil
    }

    /// The model of the object's last row; nil if the journal no longer has a row of the object.
    var model: CompiledModel? { last?.entry.model }
    /// The position at which the object's last row was saved.
    var rowAt: UInt64? { last?.entry.transaction.position }

    /// Returns the state under current names, or nil if the journal no longer has a row of the
    /// object.
    func state(_ names: CurrentNames) -> ObjectState? {
        guard let last, let entity = last.entity, let row = last.change.row,
            let model = last.entry.model
        else { return nil }
        let members = members(names)
        let properties = zip(names.properties(of: entity, model), entity.properties)
            .map { name, property in
                let value =
                    property.isToMany ? .null : row.uncheckedValue(property.slot, in: entity)
                return ObjectState.Property(
                    name: name, isToMany: property.isToMany, value: value,
                    members: members[name] ?? [])
            }
        return ObjectState(
            id, names, model, changedAt: steps.first?.entry.transaction.position ?? 0,
            isComplete: isComplete, properties)
    }

    /// Returns the known members of each relationship, in order.
    private func members(_ names: CurrentNames) -> [String: [ObjectReference]] {
        var ranks: [String: [ObjectReference: Rank?]] = [:]
        for step in steps.reversed() {
            guard let entity = step.entity, let model = step.entry.model else { continue }
            for link in step.change.links {
                let name = names.property(link.slot, of: entity, model)
                if link.isAdded {
                    ranks[name, default: [:]].updateValue(link.rank, forKey: link.target)
                } else {
                    ranks[name]?.removeValue(forKey: link.target)
                }
            }
        }
        return ranks.mapValues { ranks in
            ranks.map { RankPlan.Member(member: $0.key, rank: $0.value) }
                .sorted(by: RankPlan.isBefore).map(\.member)
        }
    }
}

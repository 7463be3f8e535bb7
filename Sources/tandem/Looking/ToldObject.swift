import Tandem

/// What the journal tells of an object up to a position, back to where it came to be as far as that is kept.
struct ToldObject {
    let id: ObjectID
    /// Where the journal begins.
    private(set) var oldest: UInt64 = 0
    /// Where it was deleted, if nothing came behind that.
    private(set) var deletedAt: UInt64?
    /// Whether the journal goes back to its insertion, so that no member is missing.
    private(set) var isWhole = false
    /// What happened to it, newest first.
    private var steps: [ObjectStory.Step] = []
    /// The last that has its row.
    private var last: ObjectStory.Step?

    /// Reads back from a position.
    init(_ story: ObjectStory, through top: UInt64) throws {
        id = story.id
        var (steps, last, gone) = ([ObjectStory.Step](), ObjectStory.Step?.none, UInt64?.none)
        oldest = try story.backwards(through: top) { step in
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
        isWhole = steps.last?.change.kind == .insert
        deletedAt = last == nil ? gone : nil
    }

    /// The model of its last row; nil where no row of it is kept.
    var model: CompiledModel? { last?.entry.model }
    /// Where its last row was saved.
    var rowAt: UInt64? { last?.entry.transaction.position }

    /// What it comes to under the names of today; nil where no row of it is kept.
    func state(_ names: TodaysNames) -> ObjectState? {
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
            isWhole: isWhole, properties)
    }

    /// The members that are known, by relationship, in their order.
    private func members(_ names: TodaysNames) -> [String: [ObjectReference]] {
        var places: [String: [ObjectReference: Rank?]] = [:]
        for step in steps.reversed() {
            guard let entity = step.entity, let model = step.entry.model else { continue }
            for link in step.change.links {
                let name = names.property(link.slot, of: entity, model)
                if link.isAdded {
                    places[name, default: [:]].updateValue(link.rank, forKey: link.target)
                } else {
                    places[name]?.removeValue(forKey: link.target)
                }
            }
        }
        return places.mapValues { places in
            places.map { RankPlan.Place(member: $0.key, rank: $0.value) }
                .sorted(by: RankPlan.isBefore).map(\.member)
        }
    }
}

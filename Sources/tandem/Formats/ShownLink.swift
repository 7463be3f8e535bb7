import Tandem

/// The addition, removal or move of one member of a to-many relationship.
struct ShownLink {
    /// The kind of change; the raw value is the printed sign.
    enum Sign: String {
        case added = "+"
        case removed = "-"
        case moved = "~"
    }

    let slot: Int
    let target: ObjectReference
    let sign: Sign

    /// Returns the links of a change; a removal and an addition of the same member become one move.
    static func all(of change: Change) -> [ShownLink] {
        var shown: [ShownLink] = []
        for link in change.links {
            let hasMoved =
                link.isAdded
                && shown.last.map { $0.slot == link.slot && $0.target == link.target } ?? false
            if hasMoved { shown.removeLast() }
            shown.append(
                ShownLink(
                    slot: link.slot, target: link.target,
                    sign: hasMoved ? .moved : link.isAdded ? .added : .removed))
        }
        return shown
    }
}

extension CompiledEntity {
    /// Returns the members of a relationship in display order: by rank if it is ordered, otherwise
    /// by id.
    func shown(_ members: [ObjectID], of relationship: String) -> [ObjectID] {
        let isOrdered = property(named: relationship)?.relationship?.isOrdered == true
        return isOrdered ? members : members.sorted()
    }
}

import Tandem

/// What became of a member of a to-many relationship, as people read it: it came, it went, or it moved.
struct ShownLink {
    /// What became of it, and the sign that stands for that.
    enum Sign: String {
        case came = "+"
        case went = "-"
        case moved = "~"
    }

    let slot: Int
    let target: ObjectReference
    let sign: Sign

    /// The links of a change; a member that lost one place and gained another is one.
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
                    sign: hasMoved ? .moved : link.isAdded ? .came : .went))
        }
        return shown
    }
}

extension CompiledEntity {
    /// The members of a relationship as they are shown: in their order, and else by id.
    func shown(_ members: [ObjectID], of relationship: String) -> [ObjectID] {
        let isOrdered = property(named: relationship)?.relationship?.isOrdered == true
        return isOrdered ? members : members.sorted()
    }
}

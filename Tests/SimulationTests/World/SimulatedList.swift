import TandemModel
import TandemQuery
import TandemWire

/// A list for which clients request verdicts, with its meaning evaluated on the truth alone.
enum SimulatedList: CaseIterable {
    /// Selected by an attribute of the object itself.
    case ranked
    /// Selected and sorted by an attribute of a to-one related object.
    case titled
    /// Selected by the number of members, through links and through an inverse.
    case tagged, childless
    /// Selected by a subquery over the members.
    case proud
    /// Selected by an attribute of any member.
    case busy
    /// All objects, whose rows depend on refresh paths.
    case refreshed

    var entity: String { self == .busy ? "Group" : "Node" }

    private var format: String? {
        switch self {
        case .ranked: "rank > 3"
        case .titled: "group.title != nil"
        case .tagged: "tags.@count > 1"
        case .childless: "children.@count == 0"
        case .proud: "SUBQUERY(children, $c, $c.rank > 3).@count > 0"
        case .busy: "ANY nodes.rank > 3"
        case .refreshed: nil
        }
    }

    var item: VerdictItem {
        let predicate = format.flatMap { try? ObjectPredicate(format: $0) }
        precondition((predicate == nil) == (format == nil), "The predicates can be read.")
        return VerdictItem(
            request: FetchDescriptor(
                entity: entity, predicate: predicate, sort: self == .titled ? ["group.title"] : []),
            refreshKeyPaths: self == .refreshed ? ["group.title", "tags.label"] : [])
    }

    /// Returns the state of an object at a position; nil if it did not exist.
    func state(of number: ObjectNumber, in truth: Truth, at position: UInt64) -> State? {
        guard let values = truth.image(number, at: position)?.values else { return nil }
        let matches = matches(number, truth, position)
        var state = State(matches: matches, values: matches ? values : [])
        let title = truth.value("title", over: "group", of: number, at: position)
        if self == .titled, matches { state.values.append(title) }
        if self == .refreshed {
            let labels = truth.members("tags", of: number, at: position).map {
                truth.value("label", of: $0, at: position)
            }
            state.refresh = ["\(title)"] + labels.map { "\($0)" }.sorted()
        }
        return state
    }

    /// The state of an object that a verdict reports.
    struct State: Equatable {
        var matches: Bool
        /// For a matching object, its own values, and the values of the sort keys.
        var values: [PropertyValue]
        /// The values at the ends of refresh paths.
        var refresh: [String] = []
    }

    private func matches(_ number: ObjectNumber, _ truth: Truth, _ position: UInt64) -> Bool {
        func isHigh(_ number: ObjectNumber) -> Bool {
            if case .int(let rank) = truth.value("rank", of: number, at: position) {
                return rank > 3
            }
            return false
        }
        func members(_ name: String) -> Set<ObjectNumber> {
            truth.members(name, of: number, at: position)
        }
        return switch self {
        case .ranked: isHigh(number)
        case .titled: truth.value("title", over: "group", of: number, at: position) != .null
        case .tagged: members("tags").count > 1
        case .childless: members("children").isEmpty
        case .proud: members("children").contains(where: isHigh)
        case .busy: members("nodes").contains(where: isHigh)
        case .refreshed: true
        }
    }
}

extension Truth {
    /// Returns a property's value of an object at a position; null if there is none.
    func value(_ name: String, of number: ObjectNumber, at position: UInt64) -> PropertyValue {
        guard let entity = tags[number].flatMap({ model(at: position)?.entity(tagged: $0) }),
            let slot = entity.slot(of: name), let values = image(number, at: position)?.values
        else { return .null }
        return values[slot]
    }

    /// Returns a property's value of a to-one related object.
    func value(
        _ name: String, over path: String, of number: ObjectNumber, at position: UInt64
    ) -> PropertyValue {
        guard case .reference(let target) = value(path, of: number, at: position) else {
            return .null
        }
        return value(name, of: target.number, at: position)
    }

    /// Returns the members of a to-many relationship.
    func members(
        _ name: String, of number: ObjectNumber, at position: UInt64
    ) -> Set<ObjectNumber> {
        guard let entity = tags[number].flatMap({ model(at: position)?.entity(tagged: $0) }),
            let relationship = entity.property(named: name)?.relationship
        else { return [] }
        return Set(members(of: number, relationship.linkID, at: position))
    }
}

public import FoundationEssentials
public import TandemModel

/// A kind of change in the journal.
public enum HistoryChangeKind: String, Hashable, Sendable, CaseIterable {
    /// The object is new; ``HistoryChange/after`` has its values.
    case insert
    /// Attributes or relationships changed; ``HistoryChange/before`` and ``HistoryChange/after``
    /// have the values.
    case update
    /// The object was deleted; ``HistoryChange/before`` has its last values.
    case delete
    /// Only to-many relationships changed, through changes to objects at the other end. The change
    /// has ``HistoryChange/members``, but no values.
    case touch
}

/// A change to one object, as recorded in the journal.
///
///     for try await change in consumer.changes(of: Item.self) {
///         print(change.id, change.kind, change.after?[\.title] ?? "-")
///     }
///
/// The values are the object's values at the change's position, decoded under the model of that
/// position. Properties and entities have the names of the newest model; a property that has since
/// been removed keeps its last name.
///
/// Tools without classes use ``ManagedObject`` as `Object`, and read values by name.
public struct HistoryChange<Object: ManagedObject>: Sendable, Identifiable {
    let decoded: DecodedChange

    init(_ decoded: DecodedChange) { self.decoded = decoded }

    /// The object's id.
    public var id: ObjectID { decoded.id }

    /// The position of the save, shared by all its changes.
    ///
    /// Position and id together identify a change.
    public var position: Position { decoded.save.position }

    /// The wall-clock time of the save.
    ///
    /// It does not determine the order of changes, because clocks may be set back.
    public var time: Date {
        Date(timeIntervalSince1970: Double(decoded.save.time) / 1_000_000)
    }

    /// The origin of the save: the self-declared author, the context's name, and the process as
    /// reported by the kernel.
    public var principal: Principal { decoded.save.principal }

    /// The self-declared name of the process that saved.
    public var author: String { decoded.save.principal.author }

    /// The kind of the change.
    public var kind: HistoryChangeKind { decoded.kind }

    /// The names of the changed properties; for an insert or a delete, the names of the properties
    /// that have a value or members.
    public var changed: Set<String> { decoded.changed }

    /// Returns whether ``changed`` contains a property.
    ///
    ///     if change.changes(\.done), change.after?[\.done] == true { … }
    ///
    /// Traps if the key path is not a single `@Managed` property.
    public func changes(_ property: PartialKeyPath<Object>) -> Bool {
        decoded.changed.contains(HistoryValues<Object>.name(of: property))
    }

    /// The values before the change; nil for an insert and a touch.
    public var before: HistoryValues<Object>? { decoded.before.map { HistoryValues($0) } }

    /// The values after the change; nil for a delete and a touch.
    public var after: HistoryValues<Object>? { decoded.after.map { HistoryValues($0) } }

    /// The members added to and removed from to-many relationships, by name.
    ///
    /// A relationship whose members did not change is left out.
    public var members: [String: HistoryMembers] { decoded.members }

    /// Whether this is the last change of its save in the sequence.
    ///
    /// If effects are committed together with a position, commit them after this change, so that
    /// a restart does not skip the rest of the save.
    public var isLastOfSave: Bool { decoded.isLastOfSave }
}

extension HistoryChange: CustomStringConvertible {
    /// The position, the kind, the id and the changed properties on one line.
    public var description: String {
        let head = "\(position.number) \(kind.rawValue) \(id)"
        return kind == .delete ? head : "\(head) \(changed.sorted().joined(separator: ", "))"
    }
}

/// The members that a save added to, removed from or moved in a to-many relationship.
public struct HistoryMembers: Hashable, Sendable {
    /// The members that were added.
    public private(set) var added: [ObjectID] = []
    /// The members that were removed.
    public private(set) var removed: [ObjectID] = []
    /// The members whose rank in an ordered relationship changed.
    public private(set) var moved: [ObjectID] = []

    /// Records a link; the removal of a moved member precedes its addition.
    mutating func record(_ id: ObjectID, isAdded: Bool) {
        guard isAdded else { return removed.append(id) }
        guard removed.last == id else { return added.append(id) }
        removed.removeLast()
        moved.append(id)
    }
}

extension SavePayload {
    /// Returns the changes of the save to objects of a class and its subclasses, with values.
    ///
    ///     for try await payload in container.saves(of: "Item") {
    ///         for change in try payload.changes(of: Item.self) { print(change) }
    ///     }
    ///
    /// Throws `storage` if a change does not fit the model.
    public func changes<Object: ManagedEntity>(
        of type: Object.Type
    ) throws(TandemError) -> [HistoryChange<Object>] {
        try decodedChanges { $0.isOf(entity: Object.entity.name) }.map { HistoryChange($0) }
    }

    /// The changes of the save to objects of all entities that the process subscribes to.
    ///
    /// Throws `storage` if a change does not fit the model.
    public var changes: [HistoryChange<ManagedObject>] {
        get throws(TandemError) { try decodedChanges { _ in true }.map { HistoryChange($0) } }
    }

    private func decodedChanges(
        where isWanted: (DecodedChange) -> Bool
    ) throws(TandemError) -> [DecodedChange] {
        var decoder = ChangeDecoder(latest: model)
        return try decoder.changes(of: transaction, at: position).filter(isWanted).markingLast()
    }
}

extension [DecodedChange] {
    /// Returns the changes of one save with the last change marked.
    func markingLast() -> [DecodedChange] {
        var marked = self
        if !marked.isEmpty { marked[marked.count - 1].isLastOfSave = true }
        return marked
    }
}

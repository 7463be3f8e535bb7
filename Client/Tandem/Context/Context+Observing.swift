public import TandemModel
public import TandemQuery
import TandemWire

/// What one save did to the objects that an observer looks at.
public struct ObservedSave: Sendable {
    /// An object that matches now or matched before.
    public struct Update: Hashable, Sendable {
        /// The object.
        public var object: ObjectID
        /// The names of the properties that changed.
        public var changed: [String]
        /// Whether it matched before the save.
        public var before: Bool
        /// Whether it matches after it.
        public var after: Bool
    }

    /// The save.
    public var payload: SavePayload
    /// New objects that match.
    public var inserted: [ObjectID] = []
    /// Changed objects that match before or after.
    public var updated: [Update] = []
    /// Objects that are gone and matched.
    public var deleted: [ObjectID] = []

    /// Whether there is nothing to report.
    public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

/// Saves that a context had to start anew without: their history expired, or another epoch began.
public struct MissedSaves: Hashable, Sendable {
    /// The last position that was told of.
    public var after: Position
    /// What comes after it is told of again; of another epoch than ``after`` if the log was restored.
    public var through: Position

    /// What is left of them for who was told up to a position of the same log; nil if nothing is.
    func left(after told: UInt64) -> MissedSaves? {
        guard after.isComparable(with: through) else { return self }
        guard told < through.number else { return nil }
        return MissedSaves(after: after.at(max(after.number, told)), through: through)
    }
}

/// What an observer hears.
public enum ObservedChange: Sendable {
    /// A save that touched what it looks at.
    case saved(ObservedSave)
    /// Saves that may have, and that nobody can tell of any more: look again at what matters.
    case missed(MissedSaves)
}

/// Tells of every save that touches the objects of an entity which match a predicate, before it or after.
///
/// For those who hold no list. It ends when it is no longer held, or with ``cancel()``.
public final class ContextObserver {
    private weak var context: ManagedObjectContext?
    private var request: CompiledRequest?
    private let declaration: FetchRequest
    private let handler: (ObservedChange) -> Void
    private var undelivered: [ObservedChange] = []
    /// What it has heard of: a context that is moved back and forth tells of each save once.
    private var last: UInt64

    init(
        _ context: ManagedObjectContext, _ request: CompiledRequest,
        _ handler: @escaping (ObservedChange) -> Void
    ) {
        self.context = context
        self.request = request
        self.handler = handler
        declaration = request.request
        last = context.merged
    }

    /// Ends the observation.
    public func cancel() { context?.remove(self) }
}

extension ContextObserver: ResultsParticipant {
    var verdictItem: VerdictItem? { nil }

    func needs(_ group: MergedGroup) -> Bool { false }

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        guard let session = context?.session else { return }
        if let missed = group.missed?.left(after: group.isOtherLog ? 0 : last) {
            undelivered.append(.missed(missed))
        }
        defer { last = group.isOtherLog ? group.to : max(last, group.to) }
        if request?.model !== session.model {
            request = try? CompiledRequest(declaration, in: session.model)
        }
        guard let request else { return }
        for transaction in group.transactions where transaction.position > last {
            let payload = SavePayload(
                transaction, session.model, session.position(transaction.position))
            let observed = judge(payload, request)
            if !observed.isEmpty { undelivered.append(.saved(observed)) }
        }
    }

    func deliver() {
        while !undelivered.isEmpty { handler(undelivered.removeFirst()) }
    }

    private func judge(_ payload: SavePayload, _ request: CompiledRequest) -> ObservedSave {
        var result = ObservedSave(payload: payload)
        let reader = NothingHeld()
        for change in payload.transaction.changes where request.includes(tag: change.object.tag) {
            guard let entity = request.model.entity(tagged: change.object.tag) else { continue }
            func matches(_ row: Row?) -> Bool {
                // What only a text that is too long for its row could tell is told rather than missed.
                row.map { request.matches(change.object, $0, reader) ?? true } ?? false
            }
            let id = request.model.id(of: change.object)
            switch change.kind {
            case .insert: if matches(change.row) { result.inserted.append(id) }
            case .delete: if matches(change.deleted) { result.deleted.append(id) }
            case .touch:
                // Its row is as it was; it is judged if the context holds it.
                let held = context?.records[change.object.number]?.row
                guard request.request.predicate == nil || matches(held) else { continue }
                result.updated.append(
                    .init(object: id, changed: names(change, entity), before: true, after: true))
            case .update:
                let before = matches(change.rowBefore(in: entity))
                let after = matches(change.row)
                guard before || after else { continue }
                result.updated.append(
                    .init(
                        object: id, changed: names(change, entity), before: before, after: after))
            }
        }
        return result
    }
}

/// The names of the properties that changed, in the order of slots.
private func names(_ change: Change, _ entity: CompiledEntity) -> [String] {
    change.changed.slots.filter { $0 < entity.properties.count }.map { entity.properties[$0].name }
}

/// A graph of which nothing is known beyond the row that is judged.
private struct NothingHeld: GraphReader {
    func row(of object: ObjectReference) -> RowLookup { .unknown }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}

extension ManagedObjectContext {
    /// Calls `handler` for every save that this context merges and that touches matching objects; blocks to begin.
    ///
    /// The predicate may look at an object's own attributes and to-one relationships, not beyond: else `usage` is thrown. The handler is
    /// called in journal order, one save at a time, also when several are merged together, and before the call that merged returns;
    /// also when saves were missed, which happens after expired history and in another epoch. A save that only a text too long
    /// for its row could tell to match is told, too.
    /// It begins after the position at which the context stands on return.
    public func observe(
        _ entity: String, where predicate: ObjectPredicate? = nil,
        _ handler: @escaping (ObservedChange) -> Void
    ) throws -> ContextObserver {
        try root.observeStep(entity, predicate, handler).run(on: connection)
    }

    private func observeStep(
        _ entity: String, _ predicate: ObjectPredicate?,
        _ handler: @escaping (ObservedChange) -> Void
    ) throws -> Step<ContextObserver> {
        try sessionStep().then { session in
            let declaration = FetchRequest(entity: entity, predicate: predicate)
            let request = try CompiledRequest(declaration, in: session.model)
            guard !request.predicateUsesRelated else {
                throw TandemError(
                    .usage, "an observer's predicate may look at the object's own values only")
            }
            let read = try PersistentContainer.following([entity], session)
            return try self.positionedStep(.read(read)) { part -> Objects? in
                if case .objects(let answer) = part { answer } else { nil }
            } use: { _ in
                let observer = ContextObserver(self, request, handler)
                self.add(observer)
                return observer
            }
        }
    }
}

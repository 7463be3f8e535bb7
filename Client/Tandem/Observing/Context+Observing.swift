import DequeModule
public import TandemModel
public import TandemQuery
import TandemWire

/// The effect of one save on the objects of an observer.
public struct ObservedSave: Sendable {
    /// An object that matched before the save or matches after it.
    public struct Update: Hashable, Sendable {
        /// The object.
        public var object: ObjectID
        /// The names of the changed properties.
        public var changed: [String]
        /// Whether the object matched before the save.
        public var before: Bool
        /// Whether the object matches after the save.
        public var after: Bool
    }

    /// The save.
    public var payload: SavePayload
    /// New objects that match.
    public var inserted: [ObjectID] = []
    /// Changed objects that match before or after the save.
    public var updated: [Update] = []
    /// Deleted objects that matched.
    public var deleted: [ObjectID] = []

    /// Whether there is nothing to report.
    public var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

/// An event of an observer.
public enum ObserverEvent: Sendable {
    /// A save that changed matching objects.
    case saved(ObservedSave)
    /// A gap of saves that can no longer be reported; the application should read its objects
    /// again.
    case missed(SaveGap)
    /// The model no longer has what the observer needs; the error gives the reason.
    ///
    /// The observer receives no saves until a model has it again. Then it first receives the gap.
    case failed(TandemError)
}

/// Reports every save that changes objects of an entity that match a predicate before or after it.
///
/// Use an observer if no list is needed. The observation ends when the observer is released, or
/// with ``cancel()``.
public final class ContextObserver {
    private weak var context: ManagedObjectContext?
    private var request: CompiledRequest?
    /// The model that lacks what the observer needs, and the last position reported before it.
    private var unfit: (model: CompiledModel, since: Position)?
    private let declaration: FetchRequest
    private let handler: (ObserverEvent) -> Void
    private var undelivered: Deque<ObserverEvent> = []
    /// The last reported position; a context that moves back and forth reports each save once.
    private var last: UInt64

    init(
        _ context: ManagedObjectContext, _ request: CompiledRequest,
        _ handler: @escaping (ObserverEvent) -> Void
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

extension ContextObserver: MergeParticipant {
    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        guard let session = context?.session else { return }
        let told = SaveGap(
            after: group.missed?.after ?? session.position(last),
            through: session.position(group.to))
        if unfit == nil, let missed = group.missed?.left(after: group.isOtherLog ? 0 : last) {
            undelivered.append(.missed(missed))
        }
        defer { last = group.isOtherLog ? group.to : max(last, group.to) }
        fit(session.model, told)
        guard let request else { return }
        var rows = TouchedRows(group.transactions, request)
        for transaction in group.transactions {
            defer { rows.pass(transaction) }
            guard transaction.position > last else { continue }
            let payload = SavePayload(
                transaction, session.model, session.position(transaction.position))
            let observed = SaveMatcher(request).match(payload) {
                // A touch leaves the row unchanged. If a later transaction of the group changes it,
                // `rows` has the earlier version.
                rows[$0] ?? context?.records[$0.number]?.row
            }
            if !observed.isEmpty { undelivered.append(.saved(observed)) }
        }
    }

    /// Compiles the request for another model, or reports once per model why that is impossible.
    private func fit(_ model: CompiledModel, _ told: SaveGap) {
        guard (unfit?.model ?? request?.model) !== model else { return }
        do {
            request = try SaveMatcher(declaration, in: model).request
        } catch {
            request = nil
            unfit = (model, unfit?.since ?? told.after)
            return undelivered.append(.failed(error))
        }
        if let unfit {
            undelivered.append(.missed(SaveGap(after: unfit.since, through: told.through)))
        }
        unfit = nil
    }

    func deliver() {
        while !undelivered.isEmpty { handler(undelivered.removeFirst()) }
    }
}

extension ManagedObjectContext {
    /// Calls `handler` for every merged save that changes matching objects; blocks until the
    /// observation begins.
    ///
    /// The predicate may read only an object's own attributes and to-one relationships; otherwise
    /// `usage` is thrown. The observation begins after the context's position on return.
    ///
    /// The handler is called in journal order, before the merging call returns. Saves that are
    /// merged together are reported one by one. The handler is also called if saves were missed,
    /// because history expired or a new epoch began, and if the model no longer has what the
    /// observer needs.
    ///
    /// If the context can't decide whether an object matches, the object is reported. This concerns
    /// texts that are too long for their rows. It also concerns objects whose to-many relationships
    /// alone changed, through the inverse, if the row is neither loaded nor part of the merged
    /// saves. For such an object `before` and `after` are true, as for any matching object whose
    /// row is unchanged.
    public func observe(
        _ entity: String, where predicate: ObjectPredicate? = nil,
        _ handler: @escaping (ObserverEvent) -> Void
    ) throws -> ContextObserver {
        try blocking { try await root.observe(entity, predicate, handler, $0) }
    }

    private func observe(
        _ entity: String, _ predicate: ObjectPredicate?,
        _ handler: @escaping (ObserverEvent) -> Void, _ calls: DaemonCalls
    ) async throws -> ContextObserver {
        let session = try await connectedSession(calls)
        let declaration = FetchRequest(entity: entity, predicate: predicate)
        let request = try SaveMatcher(declaration, in: session.model).request
        let following = try PersistentContainer.following([entity], session)
        let _: ReadAnswer = try await read(.read(following), calls) {
            if case .objects(let answer) = $0 { answer } else { nil }
        }
        let observer = ContextObserver(self, request, handler)
        add(observer)
        return observer
    }
}

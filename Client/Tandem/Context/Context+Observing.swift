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
    /// The model has changed so that what it looks at is not in it any more, and why not.
    ///
    /// It hears of no saves until the model has it again; then it is told first which ones it missed.
    case failed(TandemError)
}

/// Tells of every save that touches the objects of an entity which match a predicate, before it or after.
///
/// For those who hold no list. It ends when it is no longer held, or with ``cancel()``.
public final class ContextObserver {
    private weak var context: ManagedObjectContext?
    private var request: CompiledRequest?
    /// The model that lacks what it looks at, and the last position that was told of before.
    private var unfit: (model: CompiledModel, since: Position)?
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
        let told = MissedSaves(
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
            let observed = SaveJudge(request).judge(payload) {
                // Who is only touched has the row that it had, unless another save has changed it since.
                rows[$0] ?? context?.records[$0.number]?.row
            }
            if !observed.isEmpty { undelivered.append(.saved(observed)) }
        }
    }

    /// Compiles what it looks at under another model, or says why that can't be done, once for each model.
    private func fit(_ model: CompiledModel, _ told: MissedSaves) {
        guard (unfit?.model ?? request?.model) !== model else { return }
        do {
            request = try SaveJudge(declaration, in: model).request
        } catch {
            request = nil
            unfit = (model, unfit?.since ?? told.after)
            return undelivered.append(.failed(error))
        }
        if let unfit {
            undelivered.append(.missed(MissedSaves(after: unfit.since, through: told.through)))
        }
        unfit = nil
    }

    func deliver() {
        while !undelivered.isEmpty { handler(undelivered.removeFirst()) }
    }
}

extension ManagedObjectContext {
    /// Calls `handler` for every save that this context merges and that touches matching objects; blocks to begin.
    ///
    /// The predicate may look at an object's own attributes and to-one relationships, not beyond: else `usage` is thrown. The handler is
    /// called in journal order, one save at a time, also when several are merged together, and before the call that merged returns;
    /// also when saves were missed, which happens after expired history and in another epoch, and when the model no longer has what it
    /// looks at.
    ///
    /// What nobody here can tell to match is told rather than missed: a text too long for its row; and an object of which only
    /// to-many relationships changed, from the other end, where neither the context holds its row nor a save merged together with
    /// that one tells it. Such an update has `before` and `after` true, as any that leaves the row as it was and matches.
    ///
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
            let request = try SaveJudge(declaration, in: session.model).request
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

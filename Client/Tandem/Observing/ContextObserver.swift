import DequeModule
public import TandemModel
import TandemQuery
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
    package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

/// An event of an observer.
public enum ObserverEvent: Sendable {
    /// A save that changed matching objects.
    case saved(ObservedSave)
    /// Saves that can no longer be reported; the application should read its objects again.
    case missed(SaveGap)
    /// The model lacks an entity or property of the observer's request; the error gives the reason.
    ///
    /// The observer receives no saves until a later model fits the request. Then it first receives
    /// ``missed(_:)``.
    case failed(TandemError)
}

/// Reports the saves that change an object of an entity, if the object matches a predicate before
/// or after the save.
///
/// Use an observer if no list is needed. The observation ends when the observer is released or
/// ``cancel()`` is called.
public final class ContextObserver {
    private weak var context: ManagedObjectContext?
    private var request: CompiledRequest?
    /// The model that lacks an entity or property of the request, and the last position reported
    /// before that model.
    private var unsupportedModel: (model: CompiledModel, since: Position)?
    private let declaration: FetchDescriptor
    private let handler: (ObserverEvent) -> Void
    private var undelivered: Deque<ObserverEvent> = []
    /// The last reported position; each save is reported once, even if the context moves back and
    /// forth.
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
    public func cancel() { context?.participants.remove(self) }
}

extension ContextObserver: MergeParticipant {
    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) {
        guard let session = context?.session else { return }
        let gap = SaveGap(
            after: group.missed?.after ?? session.position(last),
            through: session.position(group.to))
        if unsupportedModel == nil,
            let missed = group.missed?.left(after: group.isOtherLog ? 0 : last)
        {
            undelivered.append(.missed(missed))
        }
        defer { last = group.isOtherLog ? group.to : max(last, group.to) }
        recompile(for: session.model, gap)
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
                rows[$0] ?? context?.graph[$0.number]?.row
            }
            if !observed.isEmpty { undelivered.append(.saved(observed)) }
        }
    }

    /// Compiles the request for a different model, or reports once per model why that is
    /// impossible.
    private func recompile(for model: CompiledModel, _ gap: SaveGap) {
        guard (unsupportedModel?.model ?? request?.model) !== model else { return }
        do {
            request = try SaveMatcher(declaration, in: model).request
        } catch {
            request = nil
            unsupportedModel = (model, unsupportedModel?.since ?? gap.after)
            return undelivered.append(.failed(error))
        }
        if let unsupportedModel {
            undelivered.append(
                .missed(SaveGap(after: unsupportedModel.since, through: gap.through)))
        }
        unsupportedModel = nil
    }

    func deliver() {
        while !undelivered.isEmpty { handler(undelivered.removeFirst()) }
    }
}

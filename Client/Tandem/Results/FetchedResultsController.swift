public import TandemModel
public import TandemQuery
import TandemResults

/// A sorted, sectioned list of the objects that a request picks, kept in step with every save.
///
/// After every merge of its context the list equals what a fresh fetch would give, also where predicate, order or
/// sections lead through relationships, and it reports each merge as one change. It shows what is saved, as of the
/// context's position: pending edits of the context don't move rows, the objects it hands out carry them.
///
///     let request = FetchRequest(entity: "Content", sort: [SortKey("bucket.name"), SortKey("title")])
///     let controller = try FetchedResultsController(
///         fetchRequest: request, context: context, sectionNameKeyPath: "bucket.name")
///     controller.delegate = view
///     try controller.performFetch()
///
/// A controller belongs to its context's actor, as its objects do. It steps whenever the context merges; its
/// observers hear of it after all controllers of the context have stepped, and never from within their own callbacks.
public final class FetchedResultsController {
    /// The context whose objects are listed and with which the list steps.
    public let context: ManagedObjectContext
    /// What is listed; setting it has no effect until the next ``performFetch()``.
    public var fetchRequest: FetchRequest
    /// The key path of section names; setting it has no effect until the next ``performFetch()``.
    public var sectionNameKeyPath: String?
    /// Key paths through which rows show values of other objects; a change there updates the rows.
    public let relationshipKeyPathsForRefreshing: [String]
    /// A name for a section cache; accepted for later, nothing is cached yet.
    public let cacheName: String?
    /// Who is told of changes; see ``FetchedResultsControllerDelegate`` for the kinds there are.
    public weak var delegate: (any FetchedResultsControllerDelegate)?
    /// Why the list does not show the present state; nil while all is well.
    ///
    /// With `outOfOrderSection` it goes on showing the last good list and recovers by itself, with one change.
    public internal(set) var error: TandemError?

    /// What the list follows; nil before the first fetch.
    var plan: ResultsPlan?
    /// What a fetch under way will follow.
    var opening: ResultsPlan?
    /// Why that fetch can't succeed.
    var openingFailure: TandemError?
    /// Up to where the list stood when the stream was interrupted; it has to be fetched again.
    var interruption: Position?
    /// Where the list stands.
    var lastPosition: Position?
    /// An answer that was not taken over yet.
    var prefetched: Prefetched?
    var list: SectionedList
    /// What is shown while `list` can't be.
    var good: SectionedList?
    /// What changed since then.
    var owed: [ObjectNumber: ChangeReason] = [:]
    /// The known part of the result when only a window of it is shown.
    var held: HeldRows?
    var links: ResultsLinks?
    /// How often rows were fetched.
    var fetches = 0
    var outbox: [ResultsDelivery] = []
    var isDelivering = false
    let feeds = ResultsFeeds()

    /// A controller of a request; nothing is fetched yet.
    ///
    /// Throws ``TandemError`` with `noSortDescriptors`; and with `unknownEntity`, `unknownProperty` or `invalidPredicate` if the context
    /// was in use, else ``performFetch()`` throws these.
    /// - Parameters:
    ///   - fetchRequest: What is listed; it needs at least one sort key.
    ///   - context: The context.
    ///   - sectionNameKeyPath: What sections are named by; its order must be that of the sort keys.
    ///   - relationshipKeyPathsForRefreshing: Key paths through which rows show other objects' values.
    ///   - cacheName: Accepted for later.
    public init(
        fetchRequest: FetchRequest, context: ManagedObjectContext,
        sectionNameKeyPath: String? = nil, relationshipKeyPathsForRefreshing: [String] = [],
        cacheName: String? = nil
    ) throws(TandemError) {
        self.fetchRequest = fetchRequest
        self.context = context
        self.sectionNameKeyPath = sectionNameKeyPath
        self.relationshipKeyPathsForRefreshing = relationshipKeyPathsForRefreshing
        self.cacheName = cacheName
        list = SectionedList(sectioned: sectionNameKeyPath != nil)
        if let model = context.session?.model {
            _ = try makePlan(model)
        } else {
            try ResultsPlan.check(fetchRequest)
        }
    }

    deinit {
        links?.forgetAll(context)
        feeds.finish()
    }

    // MARK: Fetching

    /// Fetches the list and follows it from now on; blocks.
    ///
    /// Classic delegates hear nothing of it, others get what is shown now. Throws `noSortDescriptors`, `unknownEntity`,
    /// `unknownProperty`, `invalidPredicate`, `outOfOrderSection`, `disconnected`, `limitExceeded`; the list is then as it was.
    public func performFetch() throws {
        defer { opening = nil }
        try openStep().run(on: context.connection)
        try checkOrder()
    }

    /// Fetches the list and follows it from now on.
    public nonisolated(nonsending) func performFetch() async throws {
        defer { opening = nil }
        try await openStep().runAsync(on: context.connection)
        try checkOrder()
    }

    /// Changes the request and fetches anew, silently for classic delegates; blocks.
    ///
    ///     try controller.refetch { $0.limit = 50 }
    ///
    /// Throws as ``performFetch()``; the request is changed nevertheless.
    public func refetch(_ change: (inout FetchRequest) throws -> Void) throws {
        try change(&fetchRequest)
        try performFetch()
    }

    /// Changes the request and fetches anew, silently for classic delegates.
    public nonisolated(nonsending) func refetch(
        _ change: (inout FetchRequest) throws -> Void
    ) async throws {
        try change(&fetchRequest)
        try await performFetch()
    }

    func makePlan(_ model: CompiledModel) throws(TandemError) -> ResultsPlan {
        try ResultsPlan(
            fetchRequest, sectionKeyPath: sectionNameKeyPath,
            refreshKeyPaths: relationshipKeyPathsForRefreshing, in: model)
    }

    private func checkOrder() throws {
        if let error, error.code == .outOfOrderSection { throw error }
    }

    private func openStep() throws -> Step<Void> {
        try ResultsPlan.check(fetchRequest)
        return try context.sessionStep().then { session in
            self.opening = try self.makePlan(session.model)
            self.openingFailure = nil
            self.prefetched = nil
            if self.plan == nil { self.context.add(self) }
            return try self.settleStep(attempt: 1)
        }
    }

    /// Merges until the fetch is taken over; others may merge in between.
    private func settleStep(attempt: Int) throws -> Step<Void> {
        try context.mergeStep(through: context.merged).then { _ in
            if let failure = self.openingFailure { throw failure }
            guard self.opening != nil else { return .done(()) }
            guard attempt < self.context.container.limits.readAttempts else {
                throw TandemError(.timeout, "the list could not be fetched, try again")
            }
            return try self.settleStep(attempt: attempt + 1)
        }
    }
}

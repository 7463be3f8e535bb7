public import TandemModel
public import TandemQuery
public import TandemResults

/// A sorted, sectioned list of the objects that a request picks, kept in step with every save.
///
/// After every merge of its context the list equals what a fresh fetch would give, also where predicate, order or
/// sections lead through relationships, and it reports each merge as one change. Unsaved edits of the context lie over what is
/// saved, unless ``includesPendingChanges`` is off.
///
///     let request = FetchRequest(entity: "Content", sort: ["bucket.name", "title"])
///     let controller = try FetchedResultsController(
///         fetchRequest: request, context: context, sectionNameKeyPath: "bucket.name")
///     controller.delegate = view
///     try controller.performFetch()
///
/// A controller belongs to its context's actor, as its objects do. It steps whenever the context merges; its
/// observers hear of it after all controllers of the context have stepped.
///
/// State:
/// - `plan`, `list`, `held`, `links`: what is followed, its rows, those known beyond a window, and which objects they reach.
/// - `good`, `owed`: what is shown while `list` is out of order, and what changed since; else nil and empty.
/// - `opening`, `openingFailure`: what a fetch under way will follow, and why that can't be.
/// - `interruption`: where the list stood when it lost the thread; it is fetched again with the next merge,
///   unless that was refused.
/// - `prefetched`: an answer that waits for the merge that reaches its position.
/// - `outbox`: what observers have not been told yet.
public final class FetchedResultsController {
    /// The context whose objects are listed and with which the list steps.
    public let context: ManagedObjectContext
    /// What is listed; setting it has no effect until the next ``performFetch()``.
    public var fetchRequest: FetchRequest
    /// The key path of section names; setting it has no effect until the next ``performFetch()``.
    public var sectionNameKeyPath: String?
    /// Key paths through which rows show values of other objects: a change there updates the rows.
    public var relationshipKeyPathsForRefreshing: [String]
    /// The attributes whose sums the list keeps (``sum(of:inSection:)``); setting it has no effect until the next ``performFetch()``.
    ///
    /// It costs memory for the numbers of every row, and a list that adds up is not opened from a cache.
    public var sumProperties: [String] = []
    /// The name under which the list is cached between runs of the program; nil for no cache.
    ///
    /// A controller that first fetches under the name of a cached list asks only what became of it since. A cache that is of another request,
    /// model, store or epoch is not used but written anew, so there is no rule to keep. See ``PersistentContainer/cacheDirectory``.
    ///
    /// A list with a limit, an offset or sums is not cached. One that was opened from its cache is followed as if it had been fetched, though its
    /// rows are not at hand: when an object changes that they reach, the daemon is asked once for those rows. Setting it lets the list be
    /// kept under another name from then on; the next ``performFetch()`` of a list that is there already fetches it, and keeps it.
    public var cacheName: String?
    /// Whether unsaved edits of the context show in the list; on at first, as in Core Data.
    ///
    /// Objects that were edited themselves come, go, move and are updated when the context processes its pending changes
    /// (``ManagedObjectContext/processPendingChanges()`` tells when that is); a save that brings to the store what is shown
    /// changes nothing. Setting it is such a change, too.
    ///
    /// Rows that show an edited object's values, or are ordered or sectioned by them, follow with it.
    ///
    /// Limits: rows follow what they reach only when it is saved where the list has a limit, its condition looks beyond the rows' own values or
    /// a key path leads through a to-many relationship, where it was opened from a cache, and where it has more rows than the context keeps
    /// (half of ``ClientLimits/cachedRows``). A context that merges nothing unprompted loads nothing to place an edit either: a row whose new
    /// place hangs on an object that isn't held stays until something is asked. A window that edits emptied is filled up with rows of the
    /// context's position, as far back as the journal reaches.
    public var includesPendingChanges = true {
        didSet {
            guard includesPendingChanges != oldValue else { return }
            overlay.touchAll()
            context.stepOverlays()
        }
    }
    /// Who is told of changes.
    public weak var delegate: (any FetchedResultsControllerDelegate)?
    /// Called with every change, those of fetches of the whole list and failures included (``ControllerChange/error``), after the delegate; it may
    /// do what a delegate may.
    public var onChange: ((ControllerChange) -> Void)?
    /// Why the list does not show the present state; nil while all is well.
    ///
    /// With `outOfOrderSection` it goes on showing the last good list and recovers by itself, with one change, which is empty where nothing
    /// differs. With any other code (the daemon refuses what it would take to follow the list, `limitExceeded` for instance) the list stays
    /// as it is until ``performFetch()`` succeeds or the context begins anew; no other list is held up by that.
    public internal(set) var error: TandemError?

    /// The context whose merges the list follows: ``context``, or the one that its edits end up in.
    let source: ManagedObjectContext
    var plan: ResultsPlan?
    var opening: ResultsPlan?
    var openingFailure: TandemError?
    var openingSums: ResultsSums?
    var interruption: Position?
    var isRefused = false
    var lastPosition: Position?
    var prefetched: Prefetched?
    var list: SectionedList
    var good: SectionedList?
    var owed: [ObjectNumber: ChangeReason] = [:]
    var held: HeldRows?
    /// Why things changed that were not reported yet.
    var causes = ChangeCauses()
    var sums: ResultsSums?
    var links: ResultsLinks?
    var outbox: [ResultsDelivery] = []
    var isDelivering = false
    /// Whether there may be more to tell, by what those did who are being told.
    var isAskedAgain = false
    /// How many rows differ from those in the cache, at most.
    var unkept = 0
    /// Rows beyond a window that are fetched with it, at least.
    var slack: Int { source.core.limits.windowSlack }
    /// How often rows were fetched.
    var fetches = 0
    /// The edits of the context that lie over the list.
    var overlay = EditOverlay()
    /// What rows showed of others when the thread was lost by starting anew; nil where that is not known.
    var shownBefore: ShownValues?
    let feeds = ResultsFeeds()
    /// Who shows this list to others.
    weak var follower: (any ResultsFollower)?
    private var place: ControllerPlace?

    /// A controller of a request; nothing is fetched yet.
    ///
    /// - Parameters:
    ///   - fetchRequest: What is listed; it needs at least one sort key.
    ///   - context: The context.
    ///   - sectionNameKeyPath: What sections are named by; its order must be that of the sort keys.
    ///   - relationshipKeyPathsForRefreshing: Key paths through which rows show other objects' values.
    ///   - cacheName: The name of a cache; nil for none.
    /// - Throws: `noSortDescriptors`; and `unknownEntity`, `unknownProperty` or `invalidPredicate` if the context was in
    ///   use already, else ``performFetch()`` throws these.
    public init(
        fetchRequest: FetchRequest, context: ManagedObjectContext,
        sectionNameKeyPath: String? = nil, relationshipKeyPathsForRefreshing: [String] = [],
        cacheName: String? = nil
    ) throws(TandemError) {
        self.fetchRequest = fetchRequest
        self.context = context
        source = context.root
        self.sectionNameKeyPath = sectionNameKeyPath
        self.relationshipKeyPathsForRefreshing = relationshipKeyPathsForRefreshing
        self.cacheName = cacheName
        list = SectionedList(sectioned: sectionNameKeyPath != nil)
        if let model = source.session?.model {
            _ = try makePlan(model)
        } else {
            try ResultsPlan.check(fetchRequest)
        }
    }

    deinit {
        keepInCache(isFinal: true)
        links?.forgetAll(source)
        feeds.finish()
    }

    // MARK: Fetching

    /// Fetches the list and follows it from now on; blocks.
    ///
    /// The delegate hears nothing of it. However busy others are, it needs one answer, and merges up to it. Of an answer that comes in parts
    /// the list is made as they come; one that breaks off with its connection is asked for again (``ClientLimits/requestAttempts``).
    ///
    /// Throws `noSortDescriptors`, `unknownEntity`, `unknownProperty`, `invalidPredicate`, `outOfOrderSection`, `disconnected`,
    /// `limitExceeded`; the list and what it follows are then as they were.
    public func performFetch() throws {
        defer { opening = nil }
        try openStep().run(on: source.connection)
    }

    /// Fetches the list and follows it from now on; the delegate hears nothing of it.
    public nonisolated(nonsending) func performFetch() async throws {
        defer { opening = nil }
        try await openStep().runAsync(on: source.connection)
    }

    func makePlan(_ model: CompiledModel) throws(TandemError) -> ResultsPlan {
        try ResultsPlan(
            fetchRequest, sectionKeyPath: sectionNameKeyPath,
            refreshKeyPaths: relationshipKeyPathsForRefreshing, in: model)
    }

    func openStep() throws -> Step<Void> {
        try ResultsPlan.check(fetchRequest)
        return try source.sessionStep().then { session in
            if self.place == nil { self.place = try ControllerPlace(self.source.connection) }
            let plan = try self.makePlan(session.model)
            self.openingSums = try ResultsSums(self.sumProperties, of: plan.compiled.entity)
            let cached = self.cached(plan, in: session)
            self.opening = cached.map { self.followed($0, plan) } ?? plan
            self.openingFailure = nil
            self.prefetched = nil
            self.source.add(self)
            guard let cached, let opening = self.opening else {
                return try self.settleStep(attempt: 1)
            }
            return try self.forwardStep(cached, opening).then { _ in
                // A cache that did not lead to the list is given up.
                if self.opening != nil, self.prefetched == nil { self.opening = plan }
                return try self.settleStep(attempt: 1)
            }
        }.then { _ in
            self.keepInCache(isFinal: true)
            return .done(())
        }
    }

    /// Merges until the fetch is taken over or refused; others may merge in between.
    private func settleStep(attempt: Int) throws -> Step<Void> {
        try source.mergeStep(through: source.merged).then { _ in
            if let failure = self.openingFailure {
                // The old list may have lost the thread meanwhile.
                return try self.source.mergeStep(through: self.source.merged).then { _ in
                    throw failure
                }
            }
            guard self.opening != nil else { return .done(()) }
            guard attempt < self.source.core.limits.readAttempts else {
                throw TandemError(.timeout, "the list could not be fetched; try again")
            }
            return try self.settleStep(attempt: attempt + 1)
        }
    }

    // MARK: The list

    /// The position that the list shows; nil before the first fetch.
    public var position: Position? { lastPosition }

    /// The sections in order; one named `""` without a section key path, no empty ones with it.
    ///
    /// Cost: the objects; use ``object(at:)`` and ``numberOfObjects`` for single ones.
    public var sections: [FetchedResultsSection] {
        guard let model = plan?.compiled.model else { return [] }
        let shown = visible
        let all = shown.references(in: 0..<shown.count)
        return shown.sections.map { section in
            FetchedResultsSection(
                name: section.name, objectIDs: all[section.range].map { model.id(of: $0) })
        }
    }

    /// The ids of all objects, in order.
    public var fetchedObjectIDs: [ObjectID] { objectIDs(in: 0..<numberOfObjects) }

    /// All objects, in order; their rows are loaded when they are read.
    public var fetchedObjects: [ManagedObject] {
        visible.references(in: 0..<numberOfObjects).map { context.object($0) }
    }

    /// How many objects the list shows.
    public var numberOfObjects: Int { visible.count }

    /// The object at a place; its row is loaded when it is read.
    ///
    /// A place outside the list traps; before ``performFetch()`` every place is.
    public func object(at path: ResultsIndexPath) -> ManagedObject {
        precondition(plan != nil, "The list is empty: performFetch() was not called.")
        return object(at: path, of: visible)
    }

    /// The object at a place of the list, or of one that it was.
    func object(at path: ResultsIndexPath, of list: SectionedList) -> ManagedObject {
        let identity = list.identity(at: path)
        return context.object(ObjectReference(tag: identity.tag, number: identity.number))
    }

    /// Where an object stands, or nil when it is not in the list.
    public func indexPath(for id: ObjectID) -> ResultsIndexPath? {
        visible.indexPath(of: id.number)
    }
}

extension TandemError {
    /// The failure of a list whose sections are out of order.
    init(_ problem: OutOfOrderSection) {
        self.init(
            .outOfOrderSection,
            "section `\(problem.section)` comes back after `\(problem.interruptedBy)`: sort by the section "
                + "key path first, or by a key of the same order")
    }
}

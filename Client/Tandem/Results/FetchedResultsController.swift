public import TandemModel
import TandemQuery
public import TandemResults

/// A sorted and sectioned list of the objects that match a request, updated with every save.
///
/// After every merge of its context, the list equals the result of a new fetch, even if its
/// predicate, order or sections traverse relationships. Each merge is reported as one change.
/// Unsaved edits of the context are shown on top of the saved state, unless
/// ``includesPendingChanges`` is false.
///
///     let request = FetchRequest(
///         Content.self, sort: [.ascending(\.bucket?.name), .ascending(\.title)])
///     let controller = try FetchedResultsController(
///         fetchRequest: request, context: context, sectionNameKeyPath: \.bucket?.name)
///     controller.delegate = view
///     try controller.performFetch()
///     let first = controller[ResultsIndexPath(section: 0, item: 0)]
///
/// A controller belongs to its context's actor, like the context's objects. It is updated whenever
/// the context merges. Its observers are notified after all controllers of the context have been
/// updated.
///
/// A `ListFollower` decides what each merge has to request for the list, a `FollowedList` keeps the
/// list's content, and a `ResultsOutbox` notifies its observers.
public final class FetchedResultsController<Object: ManagedObject> {
    /// The context whose objects are listed, and whose merges update the list.
    public let context: ManagedObjectContext
    /// The listed objects and their order; setting it has no effect until the next
    /// ``performFetch()``.
    public var fetchRequest: FetchRequest<Object>
    /// The key path of section names; setting it has no effect until the next ``performFetch()``.
    public var sectionNameKeyPath: String?
    /// The key paths through which rows show values of other objects; a change to such a value
    /// updates the rows.
    public var relationshipKeyPathsForRefreshing: [String]
    /// The attributes to be summed (``sum(of:inSection:)``); setting it has no effect until the
    /// next ``performFetch()``.
    ///
    /// A list with sums keeps these values of every row in memory, and is not opened from a cache.
    public var sumProperties: [String] = []
    /// The name under which the list is cached between runs of the program; nil for no cache.
    ///
    /// If there is a cached list, the controller's first fetch only requests the changes since the
    /// cache was written. A cache for a different request, model, store or epoch is ignored and
    /// replaced, so the app need not delete caches. See ``PersistentContainer/cacheDirectory``.
    ///
    /// Lists with a limit or an offset, and lists with sums, are not cached. A list that was opened
    /// from its cache behaves like a fetched list, but its rows are not loaded. If an object to
    /// which rows refer changes, the daemon is asked once for these rows.
    ///
    /// A changed name takes effect when the list is next written to its cache. If the list was
    /// fetched before, the next ``performFetch()`` fetches it again and caches it.
    public var cacheName: String? {
        get { follower.list.cache.name }
        set { follower.list.cache.name = newValue }
    }
    /// Whether the list shows unsaved edits of the context; true by default, as in Core Data.
    ///
    /// Edited objects are inserted, deleted, moved and updated in the list when the context
    /// processes its pending changes (``ManagedObjectContext/processPendingChanges()``). Saving
    /// edits that are shown does not change the list; setting this property may.
    ///
    /// Rows that show an edited object's values, or are ordered or sectioned by them, also follow
    /// unsaved edits of that object. They follow only after the save if the list
    /// - has a limit,
    /// - has a predicate over relationships,
    /// - has a key path through a to-many relationship,
    /// - was opened from a cache, or
    /// - has more than half as many rows as ``ClientLimits/cachedRows``.
    ///
    /// A context that does not merge automatically loads no objects to place an edited row. If the
    /// new place depends on an object that is not loaded, the row stays where it is until a later
    /// request loads that object. If edits remove rows from a list with a limit, the list is
    /// refilled with rows at the context's position, unless the journal no longer has that
    /// position.
    public var includesPendingChanges: Bool {
        get { follower.list.overlay.isEnabled }
        set {
            guard newValue != includesPendingChanges else { return }
            follower.list.overlay.isEnabled = newValue
            context.listUpdater.stepOverlays()
        }
    }
    /// The delegate, which is notified of changes; it is referenced weakly.
    public var delegate: (any FetchedResultsControllerDelegate<Object>)? {
        get { notifier.delegate }
        set { notifier.delegate = newValue }
    }
    /// A closure that is called with every change, after the delegate.
    ///
    /// The closure is also called after fetches of the whole list, and after failures
    /// (``ControllerChange/error``). The closure may do anything that a delegate may do.
    public var onChange: ((ControllerChange) -> Void)? {
        get { notifier.onChange }
        set { notifier.onChange = newValue }
    }
    /// The reason why the list is not up to date; nil if there is no failure.
    ///
    /// With `outOfOrderSection`, the list continues to show its last state that was in order. The
    /// list recovers by itself, and reports the recovery as one change, which is empty if nothing
    /// differs.
    ///
    /// Any other code means that the daemon refuses a request that is needed to follow the list,
    /// for example with `limitExceeded`. The list then stays as it is until ``performFetch()``
    /// succeeds or the context restarts. Other lists are not affected.
    public var error: TandemError? { follower.list.shown.error }

    /// The participant that updates the list with the context's merges.
    let follower: ListFollower
    /// The number of fetches.
    var fetches: Int { follower.fetches }
    private let notifier = ResultsNotifier<Object>()
    private var slot: ControllerSlot?

    /// Creates a controller, optionally with sections named by a textual key path; does not fetch
    /// the list.
    ///
    /// - Parameters:
    ///   - fetchRequest: The objects to list; at least one sort key is required.
    ///   - context: The context.
    ///   - sectionNameKeyPath: The key path of section names; the sort keys must have the same
    ///     order.
    ///   - relationshipKeyPathsForRefreshing: The key paths through which rows show values of other
    ///     objects.
    ///   - cacheName: The name of a cache; nil for none.
    /// - Throws: `noSortDescriptors`, and `usage` for a key path that names no property. If the
    ///   context was used before, also `unknownEntity`, `unknownProperty` or `invalidPredicate`;
    ///   otherwise ``performFetch()`` throws these.
    public init(
        fetchRequest: FetchRequest<Object>, context: ManagedObjectContext,
        sectionNameKeyPath: String? = nil, relationshipKeyPathsForRefreshing: [String] = [],
        cacheName: String? = nil
    ) throws(TandemError) {
        self.fetchRequest = fetchRequest
        self.context = context
        self.sectionNameKeyPath = sectionNameKeyPath
        self.relationshipKeyPathsForRefreshing = relationshipKeyPathsForRefreshing
        follower = ListFollower(context, isSectioned: sectionNameKeyPath != nil)
        follower.list.cache.name = cacheName
        follower.list.outbox.owner = self
        if let type = fetchRequest.objectClass { context.core.registerIfNeeded(type) }
        if let model = follower.source.session?.model {
            _ = try makePlan(model)
        } else {
            try ResultsPlan.check(fetchRequest.descriptor)
        }
    }

    /// Creates a controller with sections named by a key path; does not fetch the list.
    ///
    /// The other parameters and the errors are the same as for the initializer with a textual key
    /// path.
    public convenience init(
        fetchRequest: FetchRequest<Object>, context: ManagedObjectContext,
        sectionNameKeyPath: PartialKeyPath<Object>,
        relationshipKeyPathsForRefreshing: [String] = [], cacheName: String? = nil
    ) throws(TandemError) {
        let name: String? = try KeyPathRecorder.name(of: sectionNameKeyPath)
        try self.init(
            fetchRequest: fetchRequest, context: context, sectionNameKeyPath: name,
            relationshipKeyPathsForRefreshing: relationshipKeyPathsForRefreshing,
            cacheName: cacheName)
    }

    deinit { follower.keepInCache(isFinal: true) }

    // MARK: Fetching

    /// Fetches the list, and updates it with every later merge; blocks.
    ///
    /// Delegates are not notified, except a ``FetchedResultsSnapshotDelegate``. One answer suffices
    /// even while others save, because the context merges up to that answer's position. A list that
    /// is sent in chunks is built as the chunks arrive. If the connection is lost during the
    /// answer, the request is repeated, at most five times.
    ///
    /// Throws `noSortDescriptors`, `unknownEntity`, `unknownProperty`, `invalidPredicate`,
    /// `outOfOrderSection`, `disconnected`, `limitExceeded`, or `timeout` if the list could not be
    /// fetched in eight attempts. After an error, the previous list stays and continues to be
    /// updated.
    public func performFetch() throws {
        defer { follower.endOpening() }
        try follower.source.blocking { try await open($0) }
    }

    /// Fetches the list, and updates it with every later merge, without blocking the thread.
    ///
    /// Delegates are not notified, except a ``FetchedResultsSnapshotDelegate``.
    public func performFetch() async throws {
        defer { follower.endOpening() }
        try await open(follower.source.suspendingCalls)
    }

    func open(_ calls: DaemonCalls) async throws {
        let source = follower.source
        try ResultsPlan.check(fetchRequest.descriptor)
        let session = try await source.connectedSession(calls)
        if let type = fetchRequest.objectClass { try source.checkClass(type) }
        if slot == nil { slot = try ControllerSlot(source.connection) }
        let plan = try makePlan(session.model)
        let sums = try ResultsSums(sumProperties, of: plan.compiled.entity)
        try await follower.open(plan, sums, in: session, calls)
    }

    private func makePlan(_ model: CompiledModel) throws(TandemError) -> ResultsPlan {
        try ResultsPlan(
            fetchRequest.descriptor, sectionKeyPath: sectionNameKeyPath,
            refreshKeyPaths: relationshipKeyPathsForRefreshing, in: model)
    }

    // MARK: The list

    /// The position of the shown list; nil before the first fetch.
    public var position: Position? { follower.list.shown.position }

    /// The shown list.
    var visible: SectionedList { follower.list.shown.visible }

    /// The sections in order.
    ///
    /// Without a section key path there is one section, named `""`. With a section key path, no
    /// section is empty. Cost: O(objects); use ``object(at:)`` and ``numberOfObjects`` for
    /// individual values.
    public var sections: [FetchedResultsSection] {
        guard let model = follower.plan?.compiled.model else { return [] }
        let shown = visible
        let all = shown.references(in: 0..<shown.count)
        return shown.sections.map { section in
            FetchedResultsSection(
                name: section.name, objectIDs: all[section.range].map { model.id(of: $0) })
        }
    }

    /// The ids of all objects, in order.
    public var fetchedObjectIDs: [ObjectID] { objectIDs(in: 0..<numberOfObjects) }

    /// All objects in order; each object's row is loaded when it is first read.
    public var fetchedObjects: [Object] { objects(in: 0..<numberOfObjects) }

    /// Returns the objects of a section, in order; traps if the index is out of range.
    ///
    /// Each object's row is loaded when it is first read. Cost: O(objects in the section).
    public func objects(inSection section: Int) -> [Object] {
        objects(in: visible.sections[section].range)
    }

    private func objects(in range: Range<Int>) -> [Object] {
        visible.references(in: range).map { typed(context.graph.object($0)) }
    }

    /// The number of objects in the shown list.
    public var numberOfObjects: Int { visible.count }

    /// Returns the object at an index path; its row is loaded when it is first read.
    ///
    /// Traps if the index path is outside the list; before ``performFetch()``, the list is empty.
    public func object(at path: ResultsIndexPath) -> Object {
        require(
            follower.plan != nil, "The list is empty, because performFetch() was not called.")
        return object(at: path, of: visible)
    }

    /// The object at an index path (``object(at:)``).
    public subscript(path: ResultsIndexPath) -> Object { object(at: path) }

    /// Returns the object at an index path of the current list or an earlier list.
    func object(at path: ResultsIndexPath, of list: SectionedList) -> Object {
        let identity = list.identity(at: path)
        return typed(
            context.graph.object(ObjectReference(tag: identity.tag, number: identity.number)))
    }

    private func typed(_ object: ManagedObject) -> Object {
        guard let object = object as? Object else {
            fatalError(
                "\(object.id) has the class \(type(of: object)), not \(Object.self).")
        }
        return object
    }

    /// Returns the index path of an object, or nil if it is not in the list.
    public func indexPath(for id: ObjectID) -> ResultsIndexPath? {
        visible.indexPath(of: id.number)
    }
}

extension FetchedResultsController: ResultsOwner {
    var isNotifiedOfFetches: Bool { notifier.isNotifiedOfFetches }

    func notify(_ report: ListReport, _ change: ControllerChange?) {
        notifier.notify(report, change, self)
    }
}

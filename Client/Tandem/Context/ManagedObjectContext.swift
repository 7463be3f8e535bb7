public import TandemModel
import TandemWire

/// A set of objects at one position of the journal, with edits that have not been saved.
///
/// A context belongs to the actor that creates it and is not Sendable, which the compiler enforces.
/// Before an answer at a position is used (of a fetch or a save), everything up to that position is
/// merged. The objects of a context are therefore always consistent with each other.
///
///     let context = container.makeContext(name: "import")
///     let team = try context.insert("Team")
///     team["name"] = .string("Cameroon")
///     let position = try context.save()
public final class ManagedObjectContext {
    /// The name that the journal records for this context's saves.
    public let name: String
    /// The context that this one saves into, or nil if it saves into the store.
    public let parent: ManagedObjectContext?
    /// Whether the context merges every save by others automatically, unless it is paused.
    public let mergesAutomatically: Bool
    /// The policy of saves that do not specify one.
    public var mergePolicy = MergePolicy.error
    /// Whether automatic merging is paused with ``pause()``.
    public internal(set) var isPaused: Bool {
        get { familyState.isPaused }
        set { familyState.isPaused = newValue }
    }
    /// The error of a failed load when a property was read.
    ///
    /// The property reads as null, and the next throwing call of the context throws this error.
    /// Until the object is loaded, each save that contains an edit of it throws `unreadable` and
    /// sends nothing. The object is loaded by ``refresh(_:mergeChanges:)``, by a fetch, or by
    /// another read. Edits of properties that were set without being read are kept. Edits that may
    /// depend on the failed read are dropped, and the next save throws `unreadable` once with these
    /// properties.
    public internal(set) var faultFailure: TandemError?
    /// The daemon's answer to the last save, or nil after a failure or if there was nothing to
    /// send.
    public internal(set) var lastReceipt: SaveReceipt?

    let core: ContainerCore
    let connection: Connection
    let link: ContextLink
    let familyState: ContextFamilyState
    var children: [WeakContext] = []
    let records = RecordTable()
    /// The number of repeated reads during which nothing is merged automatically.
    ///
    /// A read is repeated because the context had merged past its answer.
    var readsHeld = 0
    /// The number of running reads (``read(_:into:_:as:)``).
    var readsAwaited = 0
    /// Whether ``readsHeld`` or ``readsAwaited`` has deferred a merge of received transactions.
    var hasHeldPushes = false
    /// Objects with pending edits; they are retained until the edits are saved or dropped.
    let edited = EditedObjects()
    /// Edits that were dropped because the current model has no property for them; the next save
    /// reports them.
    var droppedEdits = DroppedEdits()
    var failedReads = FailedReads()
    /// The last value that the type of its property can't represent, for code that makes values of
    /// rows.
    var valueFailure: TandemError?
    var unseenDeletions = UnseenDeletions()
    let propertyCache = PropertyCache()
    let observed = ObservedProperties()
    /// Objects recently returned as faults; they are loaded together when one of them is needed.
    var recentFaults: [ObjectReference] = []
    var sweepAt: Int
    /// Contexts of finished loops over batches whose objects are still in use.
    var keptForObjects: [ManagedObjectContext] = []
    var participants: [WeakParticipant] = []
    /// Participants that have stepped but have not delivered yet.
    var undelivered: [any MergeParticipant] = []
    var inFlightSave: InFlightSave?
    var saveIDs = SaveIDs()
    let undoStack: UndoStack
    /// Objects that are not loaded but that lists need in order to place edited objects.
    var lacking: Set<ObjectReference> = []
    /// Whether a window that edits emptied waits for rows at the context's position.
    var wantsFill = false
    /// The object changes that have not been reported yet.
    let changes = UnreportedChanges()
    /// The work to do in the next scheduled job of the context.
    var postponed: [() -> Void] = []
    var blobs: BlobCache
    let payloads: PayloadHub
    /// The debug trace of merges, fetches, faults and saves; nil without `TANDEM_DEBUG`.
    var debug = DebugLog.process

    init(
        core: ContainerCore, name: String, mergesAutomatically: Bool, actor: any Actor
    ) {
        self.core = core
        self.name = name
        self.mergesAutomatically = mergesAutomatically
        parent = nil
        connection = core.connection
        link = ContextLink(actor: actor)
        familyState = ContextFamilyState(link)
        undoStack = UndoStack(limit: core.limits.undoSteps)
        sweepAt = core.limits.cachedRows
        blobs = BlobCache(limit: core.limits.blobCacheBytes)
        payloads = PayloadHub(core.limits)
        link.context = self
        connection.attach(link)
    }

    init(child name: String, of parent: ManagedObjectContext) {
        core = parent.core
        self.name = name
        self.parent = parent
        mergesAutomatically = parent.mergesAutomatically
        mergePolicy = parent.mergePolicy
        familyState = parent.familyState
        connection = core.connection
        link = parent.link
        undoStack = UndoStack(limit: core.limits.undoSteps)
        sweepAt = core.limits.cachedRows
        blobs = BlobCache(limit: 0)
        payloads = parent.payloads
        parent.children.removeAll { $0.value == nil }
        parent.children.append(WeakContext(value: self))
    }

    deinit { if parent == nil { connection.detach(link) } }

    /// The position up to which everything is merged, or nil before the context's first use.
    public var position: Position? { session.map { $0.position(merged) } }

    /// Whether there are edits to save, or dropped edits that the next save reports.
    public var hasChanges: Bool {
        !droppedEdits.isEmpty || failedReads.hasDropped || unseenDeletions.hasDropped
            || edited.objects.contains { !$0.record.pending.isEmpty }
    }

    /// The new objects that have not been saved, in the order of creation.
    public var insertedObjects: [ManagedObject] { pending(.insert) }

    /// The objects with unsaved edits, apart from new and deleted ones.
    public var updatedObjects: [ManagedObject] { pending(.none) }

    /// The objects that the next save deletes.
    public var deletedObjects: [ManagedObject] { pending(.delete) }

    private func pending(_ kind: Edits.Kind) -> [ManagedObject] {
        edited.objects.filter { $0.record.pending.kind == kind && !$0.record.pending.isEmpty }
    }

    // MARK: Connecting

    /// Makes sure that there is a connection and that the context has a position; blocks.
    ///
    /// The context then includes every save that was acknowledged before. Throws `disconnected` if
    /// no daemon answers in time. Calling this is optional, because reads and saves connect
    /// themselves.
    @discardableResult
    public func connect() throws -> Position { try blocking { try await connected($0) } }

    /// Makes sure that there is a connection and that the context has a position.
    @discardableResult
    public func connect() async throws -> Position {
        try await connected(suspendingCalls)
    }

    /// Makes sure that the context has a position, and returns it.
    func connected(_ calls: DaemonCalls) async throws -> Position {
        try await connectedSession(calls).position(merged)
    }

    /// Makes sure that the context has a position in the session, and returns the session.
    func connectedSession(_ calls: DaemonCalls) async throws -> ServerState {
        if let failure = faultFailure {
            faultFailure = nil
            throw failure
        }
        if let session {
            try core.checkClasses(session.model)
            return session
        }
        let found = try await calls.session()
        try core.checkClasses(found.model)
        _ = try await calls.journalEnd()
        if let session { return session }
        guard let now = connection.knownSession else { return found }
        session = now
        merged = now.position
        return now
    }

    // MARK: Participants

    /// The participants that are lists.
    var lists: [any ListParticipant] { participants.compactMap(\.list) }

    /// Registers an observer, which steps with every merge; it is referenced weakly.
    func add(_ observer: any MergeParticipant) { add(WeakParticipant(value: observer)) }

    /// Registers a list, which steps with every merge; it is referenced weakly.
    func add(list: any ListParticipant) { add(WeakParticipant(value: list, list: list)) }

    private func add(_ new: WeakParticipant) {
        participants.removeAll { $0.value == nil || $0.value === new.value }
        participants.append(new)
    }

    func remove(_ participant: any MergeParticipant) {
        participants.removeAll { $0.value == nil || $0.value === participant }
        undelivered.removeAll { $0 === participant }
    }
}

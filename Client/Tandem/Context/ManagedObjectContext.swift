public import TandemModel
import TandemWire

/// A set of objects that stand at one position of the journal, with edits that nobody else sees yet.
///
/// A context belongs to the actor that makes it and is not Sendable; the compiler holds you to it. Whatever is answered at a
/// position (a fetch, a save) first merges everything up to it, so all objects of a context always fit together.
///
///     let context = container.makeContext(name: "import")
///     let team = try context.insert("Team")
///     team["name"] = .string("Cameroon")
///     let position = try context.save()
public final class ManagedObjectContext {
    /// The name under which the journal lists this context's saves.
    public let name: String
    /// The context that this one saves into; nil for one that saves into the store.
    public let parent: ManagedObjectContext?
    /// Whether the context follows every save of others unprompted, unless it is paused.
    public let mergesAutomatically: Bool
    /// The policy of saves that name none.
    public var mergePolicy = MergePolicy.error
    /// Whether ``pause()`` was called last.
    public internal(set) var isPaused: Bool {
        get { standing.isPaused }
        set { standing.isPaused = newValue }
    }
    /// Why an object could not be loaded when one of its properties was read.
    ///
    /// Such a property reads as null; the next throwing call of the context throws this error. As long as the object can't be loaded,
    /// each save that contains an edit of it throws `unreadable`, and sends nothing. Loading it (``refresh(_:mergeChanges:)``,
    /// a fetch, reading it again) keeps what was set without being read, and drops what may be computed from the failed read:
    /// the next save throws `unreadable` once, with the properties concerned.
    public internal(set) var faultFailure: TandemError?
    /// What the daemon answered to the last save; nil after a failure, or when there was nothing to send.
    public internal(set) var lastReceipt: SaveReceipt?

    let core: ContainerCore
    let connection: Connection
    let link: ContextLink
    let standing: Standing
    var children: [WeakContext] = []
    var records = RecordTable()
    /// Reads that were asked again because the context had merged beyond their answers: until they are done nothing is merged unprompted.
    var readsHeld = 0
    /// How many reads are under way (``AwaitedRead``).
    var readsAwaited = 0
    /// Whether something came in that ``readsHeld`` or ``readsAwaited`` kept from being merged.
    var hasHeldPushes = false
    /// Objects with pending edits; they are kept alive until these are saved or dropped.
    let edited = EditedObjects()
    /// Edits that were dropped because they have no place in the store any more; the next save tells of them.
    var lostEdits = LostEdits()
    var failedReads = FailedReads()
    /// The last value that the type of its property can't show, for those who make values of rows.
    var valueFailure: TandemError?
    var unseenDeletions = UnseenDeletions()
    let propertyCache = PropertyCache()
    let observed = ObservedProperties()
    /// Objects that were handed out as faults lately; they are loaded together when one of them is needed.
    var recentFaults: [ObjectReference] = []
    var sweepAt: Int
    /// Contexts of loops over batches that have ended, of which somebody keeps objects.
    var keptForObjects: [ManagedObjectContext] = []
    var participants: [WeakParticipant] = []
    /// Participants that stepped and have not delivered yet.
    var undelivered: [any ResultsParticipant] = []
    var unanswered: UnansweredSave?
    var saveIDs = SaveIDs()
    let undoStack: UndoStack
    /// What lists have to know to place what was edited, and the context does not hold.
    var lacking: Set<ObjectReference> = []
    /// Whether a window that edits emptied waits for rows at the position where the context rests.
    var wantsFill = false
    /// What became of objects and was not told yet.
    let changes = PendingChanges()
    /// What is to be done in the next job of the context's own.
    var postponed: [() -> Void] = []
    var blobs: BlobCache
    let payloads: PayloadHub
    /// Who is told of merges, fetches, faults and saves; nil without `TANDEM_DEBUG`.
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
        standing = Standing(link)
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
        standing = parent.standing
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

    /// The position up to which everything is merged; nil before the context was first used.
    public var position: Position? { session.map { $0.position(merged) } }

    /// Whether there is anything to save, or edits were dropped of which the next save tells.
    public var hasChanges: Bool {
        !lostEdits.isEmpty || failedReads.hasDropped || unseenDeletions.hasDropped
            || edited.objects.contains { !$0.record.pending.isEmpty }
    }

    /// The new objects that are not saved yet, in the order in which they were made.
    public var insertedObjects: [ManagedObject] { pending(.insert) }

    /// The objects with unsaved edits, apart from new and deleted ones.
    public var updatedObjects: [ManagedObject] { pending(.none) }

    /// The objects that the next save deletes.
    public var deletedObjects: [ManagedObject] { pending(.delete) }

    private func pending(_ kind: Edits.Kind) -> [ManagedObject] {
        edited.objects.filter { $0.record.pending.kind == kind && !$0.record.pending.isEmpty }
    }

    // MARK: Contact

    /// Makes sure that there is a connection and that the context stands at a position; blocks.
    ///
    /// It sees every save that was acknowledged before. Throws `disconnected` when no daemon answers in time. Calling it is never needed, reading and
    /// saving do so themselves.
    @discardableResult
    public func connect() throws -> Position { try connectStep().run(on: connection) }

    /// Makes sure that there is a connection and that the context stands at a position.
    @discardableResult
    public nonisolated(nonsending) func connect() async throws -> Position {
        try await connectStep().runAsync(on: connection)
    }

    func connectStep() throws -> Step<Position> {
        try sessionStep().then { session in .done(session.position(self.merged)) }
    }

    /// The session, with the context standing somewhere in it.
    func sessionStep() throws -> Step<Session> {
        if let failure = faultFailure {
            faultFailure = nil
            throw failure
        }
        if let session {
            try core.checkClasses(session.model)
            return .done(session)
        }
        return .connect { found in
            try self.core.checkClasses(found.model)
            return .ask(.sync(Sync(number: 0, timeoutMilliseconds: 0))) {
                if case .synced = $0 { true } else { nil }
            } then: { (_: Bool) in
                if let session = self.session { return .done(session) }
                guard let now = self.connection.knownSession else { return .done(found) }
                self.session = now
                self.merged = now.position
                return .done(now)
            }
        }
    }

    // MARK: Participants

    /// Registers something that steps with every merge; it is held weakly.
    func add(_ participant: any ResultsParticipant) {
        participants.removeAll { $0.value == nil || $0.value === participant }
        participants.append(WeakParticipant(value: participant))
    }

    func remove(_ participant: any ResultsParticipant) {
        participants.removeAll { $0.value == nil || $0.value === participant }
        undelivered.removeAll { $0 === participant }
    }
}

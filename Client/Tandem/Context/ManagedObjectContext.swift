public import TandemModel
import TandemWire

/// A set of objects at one position of the journal, with edits that have not been saved.
///
/// A context belongs to the actor that creates it and is not Sendable, which the compiler enforces.
/// Debug builds also check it at run time (<doc:Actors>).
///
/// Before the answer to a fetch or a save is used, everything up to the answer's position is
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

    let core: ContainerCore
    let family: ContextFamilyState
    let graph: ObjectGraph
    let loader: ObjectLoader
    let failures: ReadFailures
    let editor: ObjectEditor
    let reporter: ChangeReporter
    let listUpdater: ListUpdater
    let saving: SavePipeline
    /// The log of merges, fetches, faults and saves; nil if it has no receivers.
    var log: OperationLog?
    private let childContexts: ChildContexts

    convenience init(
        core: ContainerCore, name: String, mergesAutomatically: Bool, actor: (any Actor)?
    ) {
        let family = ContextFamilyState(ContextLink(actor: actor), core.limits)
        self.init(name, nil, core, family, mergesAutomatically: mergesAutomatically)
        family.link.context = self
        core.connection.attach(family.link)
    }

    convenience init(child name: String, of parent: ManagedObjectContext) {
        self.init(
            name, parent, parent.core, parent.family,
            mergesAutomatically: parent.mergesAutomatically)
        mergePolicy = parent.mergePolicy
        parent.childContexts.add(self)
    }

    private init(
        _ name: String, _ parent: ManagedObjectContext?, _ core: ContainerCore,
        _ family: ContextFamilyState, mergesAutomatically: Bool
    ) {
        (self.name, self.parent, self.core, self.family) = (name, parent, core, family)
        log = core.log.current
        self.mergesAutomatically = mergesAutomatically
        let shared = SharedByParts(core: core, family: family)
        childContexts = shared.children
        graph = ObjectGraph(shared)
        loader = ObjectLoader(shared, isRoot: parent == nil)
        failures = ReadFailures(shared)
        editor = ObjectEditor(shared)
        reporter = ChangeReporter(shared)
        listUpdater = ListUpdater(shared)
        saving = SavePipeline(shared)
        let parts: [StatefulPart] = [
            graph, loader, failures, editor, reporter, listUpdater, saving,
        ]
        for part in parts { part.attach(to: self) }
    }

    deinit { if parent == nil { core.connection.detach(family.link) } }

    /// The child contexts that still exist.
    var children: [ManagedObjectContext] { childContexts.all }

    // MARK: State

    /// Whether automatic merging is paused with ``pause()``.
    public var isPaused: Bool { checked.family.isPaused }

    /// The error of a property read that failed to load data, until a call throws it.
    ///
    /// The property reads as null, and the next throwing call of the context throws this error.
    /// Until the object is loaded, each save that contains an edit to it throws `unreadable` and
    /// sends nothing. The object is loaded by ``refresh(_:mergeChanges:)``, by a fetch, or by
    /// another read. Edits to properties that were set without being read are kept. Edits that may
    /// depend on the failed read are dropped, and the next save throws `unreadable` once with these
    /// properties.
    public var faultFailure: TandemError? { checked.failures.fault }

    /// The position up to which everything is merged, or nil before the context's first use.
    public var position: Position? { session.map { $0.position(merged) } }

    /// Whether there are edits to save, or dropped edits that the next save reports.
    public var hasChanges: Bool { checked.editor.hasChanges || failures.hasDropped }

    /// The new objects that have not been saved, in the order of creation.
    public var insertedObjects: [ManagedObject] { checked.editor.pending(.insert) }

    /// The objects with unsaved edits, apart from new and deleted ones.
    public var updatedObjects: [ManagedObject] { checked.editor.pending(.none) }

    /// The objects that the next save deletes.
    public var deletedObjects: [ManagedObject] { checked.editor.pending(.delete) }

    // MARK: Connecting

    /// Makes sure that there is a connection and that the context has a position; blocks.
    ///
    /// The context then includes every save that was acknowledged before the call. Throws
    /// `disconnected` if no daemon answers in time. Calling this is optional, because reads and
    /// saves connect if necessary.
    @discardableResult
    public func connect() throws -> Position { try blocking { try await connected($0) } }

    /// Makes sure that there is a connection and that the context has a position.
    @discardableResult
    public func connect() async throws -> Position {
        try await connected(suspendingCalls)
    }
}

// A context belongs to the actor that creates it. The compiler rejects any transfer.
@available(*, unavailable) extension ManagedObjectContext: Sendable {}

extension ManagedObjectContext: ContextPart {
    var context: ManagedObjectContext { self }
}

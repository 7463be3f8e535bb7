import TandemModel
import TandemWire

/// A part of a context with a single responsibility; it accesses other parts through the context.
///
/// Parts with state are classes that keep it private (``StatefulPart``). Parts without state are
/// values; they are created at the start of an operation and retain the context until it ends. A
/// context is a part too, so that its public methods access the parts in the same way.
protocol ContextPart {
    var context: ManagedObjectContext { get }
    var core: ContainerCore { get }
    var family: ContextFamilyState { get }
    /// The child contexts that still exist.
    var children: [ManagedObjectContext] { get }
}

/// A part whose state lives as long as its context.
///
/// A part does not retain its context. Code with only a weak reference to a context must therefore
/// bind it to a constant before calling a part. In `context?.graph.sweep()`, the context could be
/// released before `sweep()` runs.
class StatefulPart: ContextPart {
    private unowned var owner: ManagedObjectContext?
    // Retained directly, because retaining a context is slow: it has weak references.
    final let core: ContainerCore
    final let family: ContextFamilyState
    private let childContexts: ChildContexts

    init(_ shared: SharedByParts) {
        core = shared.core
        family = shared.family
        childContexts = shared.children
    }

    final var children: [ManagedObjectContext] { childContexts.all }

    /// The context, which retains this part.
    final var context: ManagedObjectContext {
        guard let owner else { preconditionFailure("A part is attached when its context is made.") }
        return owner
    }

    /// Sets the context; called once, when the context is created.
    final func attach(to context: ManagedObjectContext) {
        precondition(owner == nil, "A part belongs to one context.")
        owner = context
    }
}

/// The objects that a context shares with all of its parts.
struct SharedByParts {
    let core: ContainerCore
    let family: ContextFamilyState
    let children = ChildContexts()
}

/// The child contexts of a context, referenced weakly.
final class ChildContexts {
    private struct Reference {
        weak var value: ManagedObjectContext?
    }

    private var references: [Reference] = []

    /// The child contexts that still exist.
    var all: [ManagedObjectContext] {
        references.isEmpty ? [] : references.compactMap(\.value)
    }

    func add(_ child: ManagedObjectContext) {
        references.removeAll { $0.value == nil }
        references.append(Reference(value: child))
    }
}

// MARK: Parts with state

extension ContextPart {
    var graph: ObjectGraph { context.graph }
    var loader: ObjectLoader { context.loader }
    var failures: ReadFailures { context.failures }
    var editor: ObjectEditor { context.editor }
    var reporter: ChangeReporter { context.reporter }
    var listUpdater: ListUpdater { context.listUpdater }
    var saving: SavePipeline { context.saving }
}

// MARK: Operations

extension ContextPart {
    var merger: MergeEngine { MergeEngine(context: context) }
    var applier: MergeApplier { MergeApplier(context: context) }
    var follower: PositionFollower { PositionFollower(context: context) }
    var pins: PinMover { PinMover(context: context) }
    var reads: PositionedReads { PositionedReads(context: context) }
    var validator: EditValidator { EditValidator(context: context) }
}

// MARK: Shared by all parts

extension ContextPart {
    var core: ContainerCore { context.core }
    var family: ContextFamilyState { context.family }
    var children: [ManagedObjectContext] { context.children }
    var connection: Connection { core.connection }
    var participants: MergeParticipants { family.participants }
    var log: OperationLog? { context.log }
    var parent: ManagedObjectContext? { context.parent }

    /// The connection's log and model as known to the context, or nil before the context's first
    /// use.
    var session: ServerState? { family.session }

    /// The position up to which all transactions are merged.
    var merged: UInt64 { family.merged }

    /// The root context, which sends requests, merges, and saves into the store.
    var root: ManagedObjectContext {
        var root = context
        while let parent = root.parent { root = parent }
        return root
    }

    /// The context; debug builds first check that the caller is isolated to its actor.
    ///
    /// Public members use it, except those that start an operation: ``beginOperation()`` checks the
    /// isolation too.
    var checked: ManagedObjectContext {
        family.link.checkIsolation()
        return context
    }

    /// The context and its ancestors, the root last.
    var lineage: [ManagedObjectContext] { [context] + (parent?.lineage ?? []) }
}

// MARK: Connecting

extension ContextPart {
    /// Makes sure that the context has a position, and returns it.
    func connected(_ calls: DaemonCalls) async throws -> Position {
        try await connectedSession(calls).position(merged)
    }

    /// Makes sure that the context has a position in the session, and returns the session.
    func connectedSession(_ calls: DaemonCalls) async throws -> ServerState {
        try failures.throwFault()
        if let session {
            try core.checkClasses(session.model)
            return session
        }
        let found = try await calls.session()
        try core.checkClasses(found.model)
        _ = try await calls.journalEnd()
        if let session { return session }
        guard let now = connection.knownSession else { return found }
        family.enter(now, at: now.position)
        return now
    }
}

import Tandem
import TandemIO
import TandemModel
import TandemWire

/// A daemon for tests of the client alone: a small store in memory that speaks the protocol.
///
/// It supports neither predicates nor conflicts. Tests can hold back answers to saves, lose a push,
/// or cut connections.
final class FakeDaemon: Sendable {
    struct Stored {
        var reference: ObjectReference
        var row: Row
        var version: UInt64
    }

    struct Held {
        var request: SaveRequest
        var id: UInt32
        var session: FakeSession
    }

    /// An event between the chunks of an answer.
    enum Interruption {
        /// The connection is cut.
        case cut
        /// A failure is sent in place of the remaining chunks.
        case failure(TandemError)
        /// Another client's save is pushed.
        case save
        /// The closure is called, and no more chunks are sent.
        case silence(@Sendable () -> Void)
        /// A chunk is sent twice.
        case repetition
        /// Another chunk is sent.
        case part(FetchedChunk)
    }

    struct State {
        var end: UInt64 = 0
        var rows: [ObjectNumber: Stored] = [:]
        var transactions: [Transaction] = []
        var saved: [[UInt8]: UInt64] = [:]
        var nextNumber: UInt64 = 1
        var sessions: [FakeSession] = []
        var held: [Held] = []
        // Switches for tests.
        var holdsSaves = false
        var losesNextPush = false
        var losesNextFetch = false
        /// Answers to fetches are sent in chunks of about this many bytes; nil for unchunked
        /// answers.
        var chunkBytes: Int?
        /// The event after this number of messages of the next chunked answer.
        var interruption: (messages: Int, event: Interruption)?
        /// Whether `interruption` applies to every answer.
        var interruptsAll = false
        /// The number of history requests that are answered only after another save.
        var savesBeforeHistory = 0
        /// Whether another save precedes every answer to a fetch, a read or a verdict request.
        var isBusy = false
        var cutsBeforeSaved = false
        var refusesSaves: TandemError?
        /// The number of connections that get no welcome.
        var silentWelcomes = 0
        var expiresHistory = false
        var refusesHistory: TandemError?
        /// The entities whose verdict requests are not answered, and those whose fetches are not
        /// answered.
        var (unjudged, unfetched): (Set<String>, Set<String>) = ([], [])
        var epoch: UInt32 = 1
        var saveIDFloor: UInt64 = 0
        /// The existing objects that replace new ones, by the number of the new object; nil if the
        /// new object is dropped.
        var takenOver: [ObjectNumber: ObjectReference?] = [:]
        var beforeVerdicts: [SaveOperation] = []
        /// The related rows of every answer with verdicts.
        var related: [StoredObject] = []
        // Records for tests.
        var hellos: [Hello] = []
        var requests: [ClientMessage] = []
    }

    let model: CompiledModel
    let state = Locked(State())
    let log = LogID(high: 7, low: 7)

    init(_ model: ManagedObjectModel) throws {
        self.model = try CompiledModel(model)
    }

    /// A transport that connects a container to this daemon.
    var transport: Transport {
        .connected { [self] in
            let (near, far) = try Socket.pair()
            let session = FakeSession(self, far)
            state.withLock { $0.sessions.append(session) }
            _ = try KernelThread.start(name: "fake") { session.run() }
            return near
        }
    }

    func container(
        author: String = "test", cachedRows: Int? = nil, answerMilliseconds: UInt64 = 3_600_000
    ) -> PersistentContainer {
        var limits = ClientLimits()
        limits.cachedRows = cachedRows ?? limits.cachedRows
        // An answer is held until the test runs again, which takes a long time if many tests wait
        // for the main actor.
        limits.answerMilliseconds = answerMilliseconds
        return PersistentContainer(author: author, transport: transport, limits: limits)
    }

    var end: Position {
        state.withLock { Position(log: log, epoch: $0.epoch, number: $0.end) }
    }

    func hellos() -> [Hello] { state.withLock { $0.hellos } }

    func cutConnections() {
        for session in state.withLock({ $0.sessions }) { session.socket.shutdown() }
    }

    /// Sends the read-only state to all clients.
    func sendState(isReadOnly: Bool, reason: String = "") {
        let push = StatePush(isReadOnly: isReadOnly, since: 1, reason: reason)
        for session in state.withLock({ $0.sessions }) { session.send(.state(push), 0) }
    }

    // MARK: Saves

    /// Commits a save as another process would.
    @discardableResult
    func commit(_ operations: [SaveOperation], author: String = "other") -> UInt64 {
        let request = SaveRequest(
            saveID: ThisProcess.randomBytes(16), contentHash: StableHash([]), author: author,
            context: "", policy: .error, modelVersion: model.version, operations: operations)
        return state.withLock { commit(request, author, &$0).position }
    }

    func insert(_ entity: String, _ values: [String: PropertyValue]) -> ObjectReference {
        let entity = self.entity(entity)
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber + 1_000_000
        }
        let reference = ObjectReference(tag: entity.tag, number: number)
        commit([.insert(object: reference, values: slots(values, entity), links: [])])
        return reference
    }

    func update(_ object: ObjectReference, _ values: [String: PropertyValue]) {
        guard let entity = model.entity(tagged: object.tag) else { return }
        let changes = slots(values, entity).map { SaveValue(slot: $0.slot, value: $0.value) }
        commit([.update(object: object, baseVersion: 0, values: changes, links: [])])
    }

    func delete(_ object: ObjectReference) {
        commit([.delete(object: object, baseVersion: 0)])
    }

    func entity(_ name: String) -> CompiledEntity {
        guard let entity = model.entity(named: name) else { preconditionFailure("no \(name)") }
        return entity
    }

    private func slots(_ values: [String: PropertyValue], _ entity: CompiledEntity) -> [SlotValue] {
        values.compactMap { name, value in
            entity.slot(of: name).map { SlotValue(slot: $0, value: value) }
        }
    }

    func commit(_ request: SaveRequest, _ author: String, _ state: inout State) -> SaveAnswer {
        if request.onlyAsks, state.saved[request.saveID] == nil {
            return SaveAnswer(position: state.end, wrote: false)
        }
        if let position = state.saved[request.saveID] {
            return SaveAnswer(
                position: position, wrote: true, isRepeat: true,
                inserted: state.transactions[Int(position) - 1].outcomes)
        }
        state.end += 1
        var changes = FakeChanges(model)
        for operation in request.operations
        where state.takenOver[operation.object.number] == nil {
            changes.apply(operation, state.end, &state.rows)
        }
        var transaction = Transaction(
            position: state.end, time: 1, principal: Principal(author: author),
            saveID: request.saveID, contentHash: request.contentHash,
            content: .objects(changes.all))
        let outcomes = request.inserts.map { state.takenOver[$0.number, default: $0] }
        transaction = transaction.withOutcomes(outcomes)
        state.transactions.append(transaction)
        state.saved[request.saveID] = state.end
        let loses = state.losesNextPush
        state.losesNextPush = false
        for session in state.sessions { session.push(transaction, isLost: loses) }
        return SaveAnswer(
            position: state.end, wrote: true, isRepeat: false,
            inserted: transaction.outcomes)
    }

    /// Answers the saves that were held back.
    func releaseSaves() {
        state.withLock { state in
            state.holdsSaves = false
            for held in state.held { held.session.carryOut(held.request, held.id, &state) }
            state.held.removeAll()
        }
    }
}

/// The changes of one fake transaction.
struct FakeChanges {
    let model: CompiledModel
    private var changes: [ObjectNumber: Change] = [:]

    init(_ model: CompiledModel) { self.model = model }

    var all: [Change] { changes.values.sorted { $0.object < $1.object } }

    mutating func apply(
        _ operation: SaveOperation, _ position: UInt64,
        _ rows: inout [ObjectNumber: FakeDaemon.Stored]
    ) {
        guard let entity = model.entity(tagged: operation.object.tag) else { return }
        let object = operation.object
        switch operation {
        case .insert(_, let values, _):
            var all = entity.defaults
            for value in values { all[value.slot] = value.value }
            let row = Row(all, of: entity, version: model.version)
            rows[object.number] = .init(reference: object, row: row, version: position)
            let mask = PropertyMask(all.indices.filter { !all[$0].isNull })
            changes[object.number] = Change(.insert, object, changed: mask, row: row)
            for value in values { link(object, entity, value.slot, nil, value.value) }
        case .update(_, _, let values, _):
            guard let old = rows[object.number]?.row else { return }
            let before = values.map {
                (slot: $0.slot, value: old.uncheckedValue($0.slot, in: entity))
            }
            let row = old.replacing(values.map { ($0.slot, $0.value) }, in: entity)
            rows[object.number] = .init(reference: object, row: row, version: position)
            changes[object.number] = Change(
                .update, object, changed: PropertyMask(values.map(\.slot)), row: row,
                before: before.map { SlotValue(slot: $0.slot, value: $0.value) })
            for (value, before) in zip(values, before) {
                link(object, entity, value.slot, before.value, value.value)
            }
        case .delete:
            guard let old = rows.removeValue(forKey: object.number)?.row else { return }
            let mask = PropertyMask(entity.properties.map(\.slot))
            changes[object.number] = Change(.delete, object, changed: mask, deleted: old)
            for property in entity.properties where !property.isToMany {
                link(
                    object, entity, property.slot, old.uncheckedValue(property.slot, in: entity),
                    .null)
            }
        }
    }

    /// Records the other ends of a to-one relationship as touched.
    private mutating func link(
        _ object: ObjectReference, _ entity: CompiledEntity, _ slot: Int, _ old: PropertyValue?,
        _ new: PropertyValue
    ) {
        guard let relationship = entity.properties[slot].relationship else { return }
        for (end, isAdded) in [(old?.reference, false), (new.reference, true)] {
            guard let end else { continue }
            var change =
                changes[end.number] ?? Change(.touch, end, changed: PropertyMask())
            change.changed.insert(relationship.inverseSlot)
            change.links.append(
                LinkChange(slot: relationship.inverseSlot, target: object, isAdded: isAdded))
            changes[end.number] = change
        }
    }
}

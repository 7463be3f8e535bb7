import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A read that is answered when it has been carried out, in steps between which others save.
///
/// A fetch of what there is, is answered at the position of its last step. What transactions meanwhile may have altered for it, by the
/// rules of verdicts, is judged again before (``FetchCursor``). What is read at an earlier position is answered there: all that happened
/// since is undone (``PastGraph``), and what happens meanwhile as well.
final class ReadUnderWay {
    /// The request's number.
    let id: UInt32
    /// The question: a fetch, verdicts, perhaps with a fetch beside them, or a read at an earlier position.
    let message: ClientMessage
    /// The fetch; nil where objects are known.
    let fetch: Fetch?
    /// The verdicts that are asked for; nil for none.
    private(set) var verdicts: VerdictsUnderWay?
    private let request: CompiledRequest?
    private(set) var cursor: FetchCursor?
    /// The rows of a fetch of values, while they are made of what was found.
    private(set) var columns: ColumnsUnderWay?
    /// What is read by reference; nil before it begins, and for others.
    private(set) var objects: ObjectsUnderWay?
    /// What is still to be sent of its answer; nil until that is known.
    private(set) var answer: AnswerUnderWay?
    /// The graph at the position that is read; nil for what there is.
    let past: PastGraph?
    /// Up to here transactions were looked through for what they altered.
    private(set) var position: UInt64
    /// What had been saved by then, in bytes since the daemon's start.
    private var savedBytes: UInt64
    private let model: CompiledModel
    private let modelPosition: UInt64
    private let source: TransactionSource
    /// What the fetch depends on; nil for everything.
    private let tags: Set<EntityTag>?
    /// Whether all that happened before the first step is undone.
    private var hasCaughtUp = false
    /// Whether it forgot what it found and looks at everything anew.
    private var beginsAnew = false
    /// Steps that came too late for what others did; with them the next ones get longer.
    private var lateSteps = 0
    /// Whether its client did not read since the last step, so that it is not for want of longer ones that it is behind.
    private var isHeldUp = false
    /// How far it was behind when its last step of undoing began.
    private var lastBehind: UInt64 = 0
    /// How much it may look at to catch up in one go, if that is not what a request may; with more it begins anew.
    var readsToCatchUp: Int?
    /// The bytes of the question, which it holds as long as it is under way.
    private let questionBytes: Int
    /// The bytes that are counted for it.
    var countedBytes = 0
    /// When the question came.
    var arrival: UInt64 = 0

    /// Begins, at a position or, if that is 0, with what there is; with a question of so many bytes, and verdicts if these are asked for.
    init(
        _ message: ClientMessage, _ fetch: Fetch?, at position: UInt64, id: UInt32,
        in model: CompiledModel, _ committer: Committer, bytes: Int = 0,
        verdicts: VerdictsUnderWay? = nil
    ) throws {
        self.id = id
        self.message = message
        self.fetch = fetch
        questionBytes = bytes
        self.verdicts = verdicts
        self.model = model
        past = position == 0 ? nil : PastGraph(at: position)
        self.position = position == 0 ? committer.position : position
        savedBytes = committer.ring.addedBytes
        modelPosition = committer.store.modelPosition
        source = TransactionSource(committer.journal)
        let request = try fetch.map { try $0.compiled(in: model) }
        self.request = request
        // What lies on paths to related objects may be of any entity.
        tags = fetch.flatMap { $0.related.isEmpty || position == 0 ? request?.observedTags : nil }
        // Beside verdicts there is something to be caught up with as soon as it begins.
        beginsAnew = verdicts != nil
        cursor = beginsAnew ? nil : try beginning(committer)
    }

    private func beginning(_ committer: Committer) throws -> FetchCursor? {
        guard let request, let fetch else { return nil }
        return try FetchCursor(
            request, for: fetch.part(of: request), in: committer.store, past: past,
            partBytes: isFetch ? committer.limits.partBytes : nil)
    }

    /// Whether the fetch is all that is asked for, so that its answer may come in parts.
    private var isFetch: Bool { if case .fetch = message { true } else { false } }

    /// About the bytes that it holds.
    var bytes: Int {
        questionBytes + (cursor?.bytes ?? 0) + (past?.window.bytes ?? 0) + (verdicts?.bytes ?? 0)
            + (columns?.bytes ?? 0) + (objects?.bytes ?? 0) + (answer?.bytes ?? 0)
    }

    /// It needs every transaction behind this one.
    var needed: UInt64 { answer == nil ? min(position, verdicts?.position ?? .max) : .max }

    /// Forgets what was found, so that it holds but its question until its next step begins anew; false if it can't.
    func forget(_ committer: Committer) -> Bool {
        // To look back needs transactions that may be gone by then.
        guard past == nil else { return false }
        cursor = nil
        (columns, objects) = (nil, nil)
        verdicts?.forget(committer)
        beginsAnew = true
        stand(at: committer)
        return true
    }

    /// Lets go of everything but the answer, which is sent in parts (``nextMessage(_:)``).
    func begin(_ answer: Fetched, partBytes: Int) {
        self.answer = AnswerUnderWay(answer, cursor?.list, partBytes: partBytes)
        (cursor, columns, objects) = (nil, nil, nil)
    }

    /// The next message of the answer; nil when there is none, or where the budget was used up before there was a whole one.
    func nextMessage(_ budget: inout Int) -> DaemonMessage? { answer?.nextMessage(&budget) }

    /// Notes that its next step has to wait for its client.
    func holdUp() { isHeldUp = true }

    /// Notes that nothing up to the committer's position is to be looked through.
    private func stand(at committer: Committer) {
        position = committer.position
        savedBytes = committer.ring.addedBytes
    }

    /// Goes on until a budget is used up; true when it is done, at the committer's position.
    ///
    /// What a longer step and catching up take beyond the budget leaves it below nothing.
    func step(_ committer: Committer, _ budget: inout Int) throws -> Bool {
        try checkModel(committer)
        let given = budget
        defer { isHeldUp = false }
        if verdicts != nil {
            let isDone = try verdicts?.step(committer, &budget, isHeldUp: isHeldUp) ?? true
            guard isDone, fetch != nil else { return isDone }
        }
        // What verdicts took leaves the fetch beside them its share.
        budget -= given
        var left = given
        defer { budget += left }
        return try read(committer, &left)
    }

    private func checkModel(_ committer: Committer) throws(TandemError) {
        guard committer.store.modelPosition != modelPosition else { return }
        // Who asks for verdicts fetches anew then, as after every other model.
        throw TandemError(
            verdicts == nil ? .schemaMismatch : .historyExpired,
            "the model changed while the read was carried out; read again")
    }

    /// One step of what is no verdict.
    private func read(_ committer: Committer, _ budget: inout Int) throws -> Bool {
        if beginsAnew {
            cursor = try beginning(committer)
            stand(at: committer)
            beginsAnew = false
        }
        let given = budget
        if let past {
            try undo(past, committer, &budget)
            guard position == committer.position else { return false }
        } else if isBehind(committer) {
            try judgeAgain(committer, &budget)
        }
        if case .read(let read) = message { return try readObjects(read, committer, &budget) }
        guard let cursor else { return true }
        var left = share(of: given, caughtUpWith: given - budget, cursor)
        budget -= left
        defer { budget += left }
        guard try cursor.step(&left), position == committer.position else { return false }
        return try makeRows(cursor, committer, &left)
    }

    /// Makes the rows of a fetch of values; true when they are known, or not asked for.
    private func makeRows(
        _ cursor: FetchCursor, _ committer: Committer, _ left: inout Int
    ) throws -> Bool {
        guard let fetch, fetch.kind == .columns, let wanted = fetch.columns, !isExplained else {
            return true
        }
        if columns == nil {
            columns = try ColumnsUnderWay(
                wanted, of: fetch.request, cursor.result().objects, in: model, committer)
        }
        return try columns?.step(committer, past, &left) ?? true
    }

    /// Reads objects and members by reference; true when they are whole.
    private func readObjects(
        _ read: Read, _ committer: Committer, _ budget: inout Int
    ) throws -> Bool {
        if past == nil, objects != nil, try isAltered(committer) {
            objects = nil
            // In longer steps it ends before others alter it again.
            if !isHeldUp { lateSteps += DaemonLimits.lateSteps }
        }
        stand(at: committer)
        if objects == nil { objects = try ObjectsUnderWay(read, in: model, committer) }
        var left = longer(budget)
        budget -= left
        defer { budget += left }
        return try objects?.step(committer, past, &left) ?? true
    }

    /// Whether others altered some of what was read by reference since the last step, or that can't be told any more.
    private func isAltered(_ committer: Committer) throws -> Bool {
        guard position < committer.position else { return false }
        // To look through more than that takes as long as to begin anew.
        guard position + 1 >= committer.journal.bounds.first,
            committer.position - position <= UInt64(committer.limits.verdictTransactions),
            committer.ring.addedBytes - savedBytes <= UInt64(DaemonLimits.windowBytes)
        else { return true }
        defer { source.rest() }
        for place in (position + 1)...committer.position {
            let changes = try source.transaction(at: place, committer.ring).changes()
            if changes.contains(where: { objects?.hasRead($0.object) ?? false }) { return true }
        }
        return false
    }

    private var isExplained: Bool { if case .explain = message { true } else { false } }

    /// Forgets rows that were made of what others altered by now; those that are made then get longer steps, so that they end.
    private func forgetRows() {
        guard columns != nil else { return }
        columns = nil
        if !isHeldUp { lateSteps += DaemonLimits.lateSteps }
    }

    /// Whether it is time to catch up: at the end, and before then only where there is much to catch up with.
    ///
    /// What others alter again and again is followed back to the candidates once so, and not at every step.
    private func isBehind(_ committer: Committer) -> Bool {
        let most = min(
            DaemonLimits.catchUpTransactions, UInt64(committer.limits.verdictTransactions))
        return cursor?.isScanned ?? true || committer.position - position >= most
            || committer.ring.addedBytes - savedBytes >= DaemonLimits.catchUpBytes
    }

    /// How much a step judges that was given so much, and looked at so much to catch up.
    private func share(of given: Int, caughtUpWith looked: Int, _ cursor: FetchCursor) -> Int {
        guard past == nil else { return given }
        // Each object that catching up found is judged with what it leads to, which is one more at least: twice as many, or
        // those who save could keep it from its end. So catching up takes three times itself at most.
        let share = given + 2 * looked
        // If others alter more than one step judges again, the steps get longer until they do.
        if cursor.isScanned, cursor.hasTouched { lateSteps += 1 }
        return max(share, longer(given))
    }

    /// How much a step takes that was given so much, after those that came too late.
    private func longer(_ given: Int) -> Int {
        given << min(lateSteps / DaemonLimits.lateSteps, 32)
    }

    /// Lets what others saved since the last step be judged again; begins anew when that is too much to look at.
    private func judgeAgain(_ committer: Committer, _ budget: inout Int) throws {
        let end = committer.position
        guard position < end, let request else { return }
        defer { stand(at: committer) }
        guard end - position <= UInt64(committer.limits.verdictTransactions),
            committer.ring.addedBytes - savedBytes <= UInt64(DaemonLimits.windowBytes),
            position + 1 >= committer.journal.bounds.first
        else { return try beginAnew(committer) }
        budget -= Int(end - position)
        let window = try TransactionWindow(committer, after: position, model, of: tags)
        let evaluator = VerdictEvaluator(
            request, window, committer.store,
            committer.store.readBudget(ofRequest: readsToCatchUp))
        do {
            let found = try evaluator.candidates(&budget, walked: cursor?.walked ?? [])
            budget -= found.count
            cursor?.touch(found)
            if !found.isEmpty { forgetRows() }
        } catch let error as StoreError {
            guard error.isTooMuch else { throw error }
            try beginAnew(committer)
        }
    }

    /// Looks at everything anew, as others altered too much to follow.
    private func beginAnew(_ committer: Committer) throws {
        // In steps twice as long it ends, at last, before others alter that much.
        if !isHeldUp { lateSteps += DaemonLimits.lateSteps }
        columns = nil
        cursor = try beginning(committer)
    }

    /// Undoes what happened since the position that is read, in steps until it has caught up with the savers.
    private func undo(_ past: PastGraph, _ committer: Committer, _ budget: inout Int) throws {
        try committer.checkLookBack(to: past.position)
        var left = share(ofUndoing: budget, committer)
        budget -= left
        defer { budget += left }
        while position < committer.position, left > 0 {
            let transaction = try source.transaction(at: position + 1, committer.ring)
            for change in try transaction.changes(of: tags) {
                guard let entity = model.entity(tagged: change.object.tag) else { continue }
                past.undo(change, entity)
                guard request?.includes(tag: change.object.tag) ?? false else { continue }
                cursor?.touch(CollectionOfOne(change.object))
            }
            position += 1
            // To read a kilobyte takes about as long as to judge an object.
            left -= 1 + transaction.bytes.count / 1_024
        }
        guard position == committer.position else { return }
        hasCaughtUp = true
        stand(at: committer)
        source.rest()
    }

    /// How much a step undoes that was given so much.
    ///
    /// Once it has caught up, at once what a turn of the savers brings; of more, as steps allow, which get longer while it
    /// falls further behind.
    private func share(ofUndoing given: Int, _ committer: Committer) -> Int {
        guard hasCaughtUp else { return given }
        let (behind, limits) = (committer.position - position, committer.limits)
        defer { lastBehind = behind }
        let isOneTurn =
            behind <= UInt64(limits.batchSaves)
            && committer.ring.addedBytes - savedBytes <= UInt64(limits.batchBytes)
        if isOneTurn { return .max >> 1 }
        if behind >= lastBehind, !isHeldUp { lateSteps += 1 }
        return longer(given)
    }
}

extension CompiledRequest {
    /// The entities of everything that it reads.
    fileprivate var observedTags: Set<EntityTag> {
        var tags = Set(entity.descendants)
        for hop in paths.flatMap(\.hops) {
            for tag in [hop.owner, hop.destination] {
                tags.formUnion(model.entity(tagged: tag)?.descendants ?? [])
            }
        }
        return tags
    }
}

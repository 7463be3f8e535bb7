import TandemModel
import TandemQuery
import TandemStore
import TandemWire

/// A question for verdicts that is answered when it has been worked off, in steps between which others save.
///
/// What is answered at the end of the journal speaks of the position of the last step: what transactions meanwhile changed is looked for
/// and judged in rounds of their own, until one ends before anything else is saved. What is answered on the way from one earlier
/// position to another is undone there and here (``PastGraph``), as is what happens meanwhile.
///
/// State:
/// - `position`: up to here transactions are undone in `start` and `end`; nothing is read but at the committer's position.
/// - `news`: what was changed and is not looked for yet.
/// - `lists`, `current`: what is asked for, and the list that is being worked off in this round.
/// - `related`, `stale`: what paths from matching objects lead to, and which of it was changed since.
struct VerdictsUnderWay {
    let request: VerdictRequest
    private let model: CompiledModel
    private let size: AnswerSize
    private let source: TransactionSource
    /// How much of the graph a round may read, if that is not what a request may.
    private let reads: Int?
    private var start: PastGraph
    private var end: PastGraph?
    private(set) var position: UInt64
    private var hasCaughtUp = false
    private var news: [ObjectNumber: ChangedObject] = [:]
    private var graphs: VerdictGraphs
    private var lists: [ListVerdicts]
    private var current = 0
    private var rounds = 0
    private var related: RelatedRows
    private var stale: Set<ObjectReference> = []
    /// Steps that came too late for what others did; with them the next ones get longer.
    private var lateSteps = 0

    /// Begins with a question whose positions can be told of.
    ///
    /// Throws ``TandemError`` for a list that does not fit the model.
    init(
        _ request: VerdictRequest, in model: CompiledModel, _ committer: Committer, reads: Int?
    ) throws {
        self.request = request
        self.model = model
        self.reads = reads
        size = AnswerSize(committer)
        source = TransactionSource(committer.journal)
        lists = try request.items.map { item throws(TandemError) in
            ListVerdicts(
                try CompiledRequest(
                    item.request, sectionKeyPath: item.sectionKeyPath,
                    refreshKeyPaths: item.refreshKeyPaths, in: model))
        }
        (start, end, position) = Self.beginning(of: request)
        graphs = VerdictGraphs(committer.store, from: start, to: end)
        related = RelatedRows(committer.store, model, end, size)
    }

    private static func beginning(
        of request: VerdictRequest
    ) -> (start: PastGraph, end: PastGraph?, position: UInt64) {
        let (from, to) = (request.from, request.at)
        guard to != 0 else { return (PastGraph(at: from), nil, from) }
        return (PastGraph(at: from), PastGraph(at: to), min(from, to))
    }

    /// About the bytes that it holds.
    var bytes: Int {
        let windows = start.window.bytes + (end?.window.bytes ?? 0)
        let list = current < lists.count ? lists[current].bytes : 0
        return size.bytes + windows + list + news.count * MemoryLayout<ChangedObject>.stride
    }

    /// Forgets all that was found, so that the next step begins anew.
    mutating func forget(_ committer: Committer) {
        (start, end, position) = Self.beginning(of: request)
        lists = lists.map { ListVerdicts($0.request) }
        (hasCaughtUp, news, stale, current, rounds) = (false, [:], [], 0, 0)
        size.removeAll()
        related = RelatedRows(committer.store, model, end, size)
    }

    /// The answer, without what is read beside it; after ``step(_:_:isHeldUp:)`` returned true and before the store changes.
    func answer(_ committer: Committer) -> Verdicts {
        Verdicts(
            position: end?.position ?? committer.position, items: lists.map(\.verdicts),
            related: related.objects)
    }

    // MARK: Steps

    /// Goes on until `budget` objects are looked at; true when all is known, at the committer's position.
    ///
    /// What it takes to keep up with those who save, and what longer steps take, leaves the budget below nothing.
    mutating func step(
        _ committer: Committer, _ budget: inout Int, isHeldUp: Bool
    ) throws -> Bool {
        let given = longer(budget)
        guard try follow(committer, given, &budget, isHeldUp) else { return false }
        var left = given
        budget -= left
        defer { budget += left }
        while true {
            if current == lists.count {
                if rounds > 0, news.isEmpty { break }
                beginRound(committer)
            }
            guard try stepLists(&left) else {
                // Until a step is as long as what others alter takes to be judged again.
                if rounds > 1, !isHeldUp { lateSteps += 1 }
                return false
            }
        }
        try renewRelated(&left)
        return true
    }

    private func longer(_ budget: Int) -> Int {
        budget << min(lateSteps / DaemonLimits.lateSteps, 32)
    }

    private mutating func beginRound(_ committer: Committer) {
        // What others do meanwhile does not count against who asks.
        let budget = committer.store.readBudget(ofRequest: reads)
        graphs = VerdictGraphs(committer.store, from: start, to: end, budget)
        let changes = news.values.sorted { $0.object < $1.object }
        for index in lists.indices { lists[index].begin(changes) }
        (news, current) = ([:], 0)
        rounds += 1
    }

    /// Goes on with this round; of lists that are too much together each is fetched for itself.
    private mutating func stepLists(_ budget: inout Int) throws -> Bool {
        while current < lists.count {
            do {
                guard try lists[current].step(graphs, &related, size, &budget) else { return false }
            } catch {
                guard current > 0, error.isTooMuch else { throw error }
                throw TandemError(
                    .historyExpired,
                    "the lists depend on too much to be judged together; fetch again")
            }
            current += 1
        }
        return true
    }

    /// What paths led to and others changed since.
    private mutating func renewRelated(_ budget: inout Int) throws {
        for object in stale.sorted() { try related.renew(object) }
        stale = []
        budget -= related.takeLooked()
    }

    // MARK: What others save

    /// Takes in what was saved; true when that is all.
    ///
    /// At first in steps, and once it has caught up at once what a turn of the savers brings.
    private mutating func follow(
        _ committer: Committer, _ given: Int, _ budget: inout Int, _ isHeldUp: Bool
    ) throws -> Bool {
        let behind = committer.position - position
        let isOneTurn = hasCaughtUp && behind <= UInt64(committer.limits.batchSaves)
        var left = isOneTurn ? Int.max >> 1 : given
        budget -= left
        defer { budget += left }
        while position < committer.position, left > 0 { try takeNext(committer, &left) }
        guard position == committer.position else {
            if !isHeldUp { lateSteps += 1 }
            return false
        }
        hasCaughtUp = true
        source.rest()
        return true
    }

    private mutating func takeNext(_ committer: Committer, _ budget: inout Int) throws {
        let transaction = try source.transaction(at: position + 1, committer.ring)
        position += 1
        // To read a kilobyte takes about as long as to judge an object.
        budget -= 1 + transaction.bytes.count / 1_024
        for change in try transaction.changes() {
            guard let entity = model.entity(tagged: change.object.tag) else { continue }
            note(change)
            for graph in [start, end] {
                if let graph, position > graph.position { graph.undo(change, entity) }
            }
        }
        for graph in [start, end] where graph?.window.bytes ?? 0 > DaemonLimits.windowBytes {
            throw TandemError(
                .historyExpired,
                "what changed after position \(graph?.position ?? 0) has more than "
                    + "\(DaemonLimits.windowBytes) bytes, too many to judge at once; fetch again")
        }
    }

    /// Notes what is to be looked for: up to where the client goes.
    private mutating func note(_ change: Change) {
        if request.at != 0, position > max(request.from, request.at) { return }
        let mask = news[change.object.number]?.mask ?? PropertyMask()
        news[change.object.number] = ChangedObject(
            object: change.object, mask: mask.union(change.changed))
        if related.holds(change.object) { stale.insert(change.object) }
    }
}

extension Error {
    /// Whether less at a time might be done.
    fileprivate var isTooMuch: Bool {
        if let error = self as? StoreError { return error.isTooMuch }
        return (self as? TandemError)?.code == .limitExceeded
    }
}

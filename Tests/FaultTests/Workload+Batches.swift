import TandemModel
import TandemQuery
import TandemWire

/// A batch, and its answer if it ended.
struct BatchRecord {
    let batch: Batch
    /// Whether the batch is to be repeated in the next life.
    var isOpen = true
    var answer: BatchAnswer?
}

/// Batches of a workload, with saves in between, and a consumer that acknowledges positions.
extension Workload {
    /// The number of tags; a batch over all of them takes two transactions.
    private static let tags = 70

    /// Changes, deletes or inserts objects with a batch.
    mutating func batch() throws {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: try deleteNotes()
        case 1: try rank()
        case 2: try insertRows()
        default: try label()
        }
    }

    private mutating func label() throws {
        guard let tag = clients[0].entities.entity(named: "Tag"), let label = tag.slot(of: "label")
        else { return }
        if !hasTags {
            hasTags = true
            let numbers = try (0..<Self.tags).compactMap { _ in try number() }
            try save(
                numbers.map {
                    .insert(
                        object: ObjectReference(tag: tag.tag, number: $0), values: [], links: [])
                })
        }
        let text = SlotValue(slot: label, value: .string("\(saves)"))
        try run(FetchDescriptor(entity: "Tag"), .update([text]))
    }

    private mutating func rank() throws {
        guard let slot = clients[0].entities.entity(named: "Note")?.slot(of: "rank") else { return }
        let request = FetchDescriptor(
            entity: "Note", predicate: try ObjectPredicate(format: "rank < \(saves / 2)"))
        try run(request, .update([SlotValue(slot: slot, value: .int(Int64(saves)))]))
    }

    private mutating func deleteNotes() throws {
        let notes = FetchDescriptor(entity: "Note", sort: [SortComponent("key")])
        var some = notes
        some.limit = 3
        try run(some, .delete)
        let fetch = Fetch(request: notes, kind: .references)
        guard case .fetched(let found) = try clients[0].ask(.fetch(fetch)) else { return }
        live = found.references
    }

    private mutating func run(_ request: FetchDescriptor, _ work: Batch.Work) throws {
        saves += 1
        let id = Array("\(name) \(saves)".utf8)
        let batch = Batch(
            batchID: id, contentHash: StableHash(id), modelVersion: clients[0].entities.version,
            request: request, work: work)
        batches.append(BatchRecord(batch: batch))
        let (client, index) = (clients[0], batches.count - 1)
        let sent = try client.send(.batch(batch))
        try save(count: 2)
        recordAnswer(try client.answer(to: sent), index)
    }

    private mutating func recordAnswer(_ message: DaemonMessage, _ index: Int) {
        batches[index].isOpen = false
        guard case .batched(let answer) = message, answer.failure == nil else { return }
        if let first = batches[index].answer, first != answer {
            problems.append("law 3: a batch answered with \(first) is answered with \(answer)")
        }
        batches[index].answer = answer
    }

    /// Repeats the unanswered batches, and the last answered one, which must get the same answer
    /// again.
    mutating func repeatBatches() throws {
        let answered = batches.lastIndex { $0.answer != nil }
        for index in batches.indices where batches[index].isOpen || index == answered {
            recordAnswer(try clients[0].ask(.batch(batches[index].batch)), index)
        }
    }

    /// Registers a consumer, or acknowledges its position.
    mutating func acknowledge() throws {
        let (client, name) = (clients[0], "reader")
        if !hasConsumer {
            let request = ConsumerRequest(name: name, action: .register(at: nil))
            guard case .consumer = try client.ask(.consumer(request)) else { return }
            hasConsumer = true
        }
        let number = max(client.welcome.position, answered.values.max() ?? 0)
        let position = Position(
            log: client.welcome.log, epoch: client.welcome.epoch, number: number)
        _ = try client.ask(
            .consumer(ConsumerRequest(name: name, action: .acknowledge(position))))
    }

    /// Returns the contradictions between a journal's batches and the answers.
    func violations(ofBatchesIn transactions: [Transaction]) -> [String] {
        var violations: [String] = []
        var last: [[UInt8]: (progress: BatchProgress, position: UInt64)] = [:]
        for transaction in transactions {
            guard let progress = transaction.batch else { continue }
            let position = transaction.position
            if let before = last[transaction.saveID]?.progress,
                before.hasEnded || before.reached > progress.reached || before.done > progress.done
            {
                violations.append("law 3: \(progress) at \(position) comes behind \(before)")
            }
            last[transaction.saveID] = (progress, position)
        }
        for record in batches {
            // A batch without effect is not in the journal.
            guard let answer = record.answer, let known = last[record.batch.batchID] else {
                continue
            }
            let isKept =
                known.progress.hasEnded && known.progress.done == answer.count
                && known.position == answer.position
            if !isKept { violations.append("law 3: a batch answered with \(answer) is \(known)") }
        }
        return violations
    }
}

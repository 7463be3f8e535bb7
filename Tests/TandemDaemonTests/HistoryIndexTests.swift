import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Ranges of the history that the index skips; none may contain a wanted transaction.
@Suite(.ownThread) struct HistoryIndexTests {
    // MARK: Random logs

    private func transaction(_ position: UInt64, _ random: inout SplitMix64) -> EncodedTransaction {
        // Runs of few entities, so that some ranges can be skipped; sometimes a model, or many
        // entities.
        let run = Int(position / 700)
        let tags: [Int] =
            switch random.number(8_000) {
            case 0: Array(1...80)
            case 1...400: []
            default: [1 + run % 5, 1 + (run + random.number(2)) % 5]
            }
        let changes = Set(tags).map { tag in
            Change(
                .touch,
                ObjectReference(tag: EntityTag(tag), number: UInt64(1 + random.number(3))),
                changed: PropertyMask([random.number(3)]))
        }
        let content: Transaction.Content =
            random.number(3_000) == 0 ? .model([]) : .objects(changes)
        let time = Int64(position) * 10 + Int64(random.number(40))
        return Transaction(position: position, time: time, content: content).encoded()
    }

    private func request(_ end: UInt64, _ random: inout SplitMix64) -> HistoryRequest {
        var condition = HistoryCondition()
        let middle = Int64(random.number(Int(end))) * 10
        let tag = EntityTag(1 + random.number(6))
        switch random.number(6) {
        case 0: condition.since = middle
        case 1: condition.until = middle
        case 2:
            (condition.since, condition.until) = (middle, middle + Int64(random.number(20_000)))
        case 3: condition.objects = [ObjectReference(tag: tag, number: 1)]
        case 4: condition.properties = [ObservedProperty(entity: tag, slot: 1)]
        default: break
        }
        let interests = random.number(2) == 0 ? [tag] : []
        return HistoryRequest(
            from: UInt64(random.number(Int(end))), interests: interests, condition: condition)
    }

    /// Returns the positions that a filter finds in a log if the index is consulted at every
    /// position.
    private func walk(
        _ log: [EncodedTransaction], from: UInt64, _ filter: HistoryMatcher, _ index: HistoryIndex,
        _ body: (EncodedTransaction) -> Void = { _ in }
    ) throws -> [UInt64] {
        var (found, position) = ([UInt64](), from)
        while position < UInt64(log.count) {
            if let end = index.end(ofSkippableFrom: position + 1, filter) {
                position = end
                continue
            }
            let transaction = log[Int(position)]
            body(transaction)
            if try filter.filtered(transaction) != nil { found.append(transaction.position) }
            position += 1
        }
        return found
    }

    @Test(arguments: 0..<4)
    func `the index skips no wanted transaction, whatever it has seen of the log`(
        _ round: Int
    ) throws {
        let seed = seed &+ UInt64(round)
        var random = SplitMix64(seed: seed)
        let log = (UInt64(1)...6_000).map { transaction($0, &random) }
        var index = HistoryIndex()
        var (read, all) = (0, 0)
        for _ in 0..<20 {
            // The index is filled from any position, as when a page of history is read.
            let start = random.number(log.count)
            for transaction in log[start..<min(log.count, start + random.number(2_500))] {
                index.record(transaction)
            }
            let request = request(UInt64(log.count), &random)
            let filter = HistoryMatcher(request, modelPosition: UInt64(random.number(3_000)))
            let wanted = try walk(log, from: request.from, filter, HistoryIndex())
            let found = try walk(log, from: request.from, filter, index) { _ in read += 1 }
            all += log.count - Int(request.from)
            #expect(found == wanted, "TANDEM_SEED=\(seed) \(request)")
        }
        #expect(read < all, "TANDEM_SEED=\(seed): \(read) of \(all) were read")
    }

    @Test func `at most the limit is kept, and dropped ranges are read`() throws {
        var index = HistoryIndex()
        let filter = HistoryMatcher(HistoryRequest(from: 0, interests: [9]), modelPosition: 0)
        let stretches = UInt64(HistoryIndex.maximumRanges)
        for number in 0...stretches {
            let position = number * HistoryIndex.rangePositions + 1
            index.record(Transaction(position: position, content: .objects([])).encoded())
        }
        #expect(index.end(ofSkippableFrom: 1, filter) == nil)
        let second = HistoryIndex.rangePositions + 1
        #expect(index.end(ofSkippableFrom: second, filter) == second)
    }

    // MARK: With a daemon

    /// Sends one request; returns how far the answer reached, and the positions.
    private func ask(
        _ client: Peer, _ from: UInt64, _ entity: CompiledEntity
    ) throws -> (isComplete: Bool, position: UInt64, found: [UInt64]) {
        let request = HistoryRequest(from: from, interests: [entity.tag])
        guard case .history(let history) = try client.ask(.history(request)) else {
            throw TandemError(.usage, "an unexpected answer about history")
        }
        return (history.isComplete, history.position, history.transactions.map(\.position))
    }

    @Test func `saved or read positions are found by the index, not by a scan`() throws {
        var limits = DaemonLimits()
        limits.sliceReads = 20
        let bench = try EngineBench(limits: limits)
        let tag = try bench.bench.entity("Tag")
        // The range with the model is always read; these saves fill it and half of the next.
        let start = HistoryIndex.rangePositions
        for number in 1...(start + 500) {
            try bench.bench.save([try bench.bench.insert("Node", number)])
        }
        let rare = try bench.bench.save([try bench.bench.insert("Tag", 3_000)]).position
        let end = bench.position.number
        // Nothing is read for entities that never changed; for one that did, its range is read.
        let badge = try bench.bench.entity("Badge")
        let none = try ask(try bench.client(), start, badge)
        #expect(none.isComplete && none.position == end && none.found.isEmpty)
        // Another daemon has to read the journal once, a slice at a time.
        try bench.crash()
        let client = try bench.client()
        var (from, steps, found): (UInt64, Int, [UInt64]) = (start, 0, [])
        while from < end {
            let step = try ask(client, from, tag)
            (from, steps, found) = (step.position, steps + 1, found + step.found)
        }
        #expect(steps >= 10 && found == [rare])
        let again = try ask(client, start, badge)
        #expect(again.isComplete && again.position == end)
    }
}

extension SplitMix64 {
    fileprivate mutating func number(_ bound: Int) -> Int { .random(in: 0..<bound, using: &self) }
}

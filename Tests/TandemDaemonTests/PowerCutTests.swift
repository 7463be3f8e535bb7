import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct PowerCutTests {
    @Test func `law 1: if the flush fails no client learns of the save and the daemon ends`() throws
    {
        for isWrite in [false, true] {
            let bench = try EngineBench()
            let watcher = try bench.client(Hello(author: "w", interests: ["Node"]))
            let saver = try bench.client(Hello(author: "s", interests: ["Node"]))
            try saver.save([try bench.bench.insert("Node", 1)])
            try bench.bench.committer.checkpoint()
            let checkpoint = bench.bench.store.checkpointPosition
            let before = try dump(bench.bench.store)
            if isWrite {
                bench.bench.disk.faults.writesUntilFailure = 1
            } else {
                bench.bench.disk.faults.syncsUntilFailure = 1
            }
            let id = try saver.send(.save(saver.saveRequest([try bench.bench.insert("Node", 2)])))
            #expect(throws: (any Error).self) { try bench.turn() }
            // A second flush must not succeed either: it could not be trusted.
            #expect(throws: (any Error).self) { try bench.turn() }
            for peer in [watcher, saver] {
                try peer.read()
                #expect(peer.pushes.count == 1)
            }
            #expect(!saver.received.contains { $0.id == id })
            #expect(bench.bench.store.checkpointPosition == checkpoint)
            try bench.bench.cutPower(seed: seed)
            let after = try dump(bench.bench.store)
            // The save was applied as a whole or not at all.
            if bench.bench.committer.position == checkpoint { #expect(after == before) }
            #expect(bench.bench.committer.position <= checkpoint + 1)
        }
    }

    @Test func `law 1: with relaxed durability a checkpoint flushes the journal first`() throws {
        for round in UInt64(0)..<20 {
            let bench = try CommitBench(durability: .relaxed)
            for number in UInt64(1)...30 {
                try bench.save([try bench.insert("Node", number)])
                if number == 10 { try bench.committer.checkpoint() }
                // Leases also commit the store when they reserve numbers.
                if number == 20, round % 2 == 0 {
                    for _ in 0..<64 { _ = try bench.committer.lease(4_096) }
                }
            }
            let checkpoint = bench.store.checkpointPosition
            #expect(checkpoint == (round % 2 == 0 ? 21 : 11))
            try bench.cutPower(seed: seed &+ round)
            #expect(bench.committer.position >= checkpoint)
            #expect(bench.store.appliedPosition == bench.committer.position)
        }
    }

    @Test func `laws 1, 3 and 6: a power cut at any write or flush loses nothing answered`() throws
    {
        var random = SplitMix64(seed: seed)
        let bench = try CommitBench()
        var answered: [(id: [UInt8], position: UInt64)] = []
        var next: UInt64 = 1
        var isOpen: [UInt8]?
        for round in 0..<60 {
            bench.disk.faults.syncsUntilFailure = Int.random(in: 1...12, using: &random)
            if Bool.random(using: &random) {
                bench.disk.faults.writesUntilFailure = Int.random(in: 1...12, using: &random)
                bench.disk.faults.bytesKept = Int.random(in: 0...600, using: &random)
            }
            do {
                for _ in 0..<20 {
                    let id = withUnsafeBytes(of: next.bigEndian) { Array($0) }
                    isOpen = id
                    let text = PropertyValue.string(
                        String(repeating: "x", count: Int(next % 7) * 300))
                    let operations = [try bench.insert("Node", next, ["name": text])]
                    next += 1
                    let saved = try bench.save(operations, id: id)
                    answered.append((id, saved.position))
                    isOpen = nil
                    if Int.random(in: 0..<5, using: &random) == 0 {
                        try bench.committer.checkpoint()
                    }
                }
            } catch let error as TandemError {
                // A segment that can't be created does not fail the journal; nothing was applied.
                #expect(error.code == .readOnly, "seed \(seed) round \(round): \(error)")
            } catch {
                // The injected fault; the process would end here.
            }
            try bench.cutPower(seed: random.next())
            let transactions = try bench.transactions()
            let what = "seed \(seed) round \(round)"
            #expect(transactions.map(\.position) == Array(1...bench.committer.position), "\(what)")
            for (id, position) in answered {
                #expect(transactions[Int(position) - 1].saveID == id, "\(what): \(position)")
            }
            // An unanswered save is applied once or not at all, and is resolved under its id.
            if let id = isOpen {
                #expect(transactions.count { $0.saveID == id } <= 1)
                if let there = transactions.first(where: { $0.saveID == id }) {
                    answered.append((id, there.position))
                }
                isOpen = nil
            }
            #expect(bench.store.appliedPosition == bench.committer.position)
        }
        #expect(answered.count > 100)
        let scratch = try Scratch(inMemory: true)
        let rebuilt = try Store.open(
            path: scratch.path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1))
        for transaction in try bench.transactions() { try rebuilt.apply(transaction) }
        #expect(try dump(rebuilt) == dump(bench.store), "seed \(seed)")
        rebuilt.close()
    }
}

import TestSupport
import Testing

/// What is broken on purpose has to be found; otherwise the oracle's silence means nothing.
@Suite(.ownThread) struct NegativeControlTests {
    /// The law that the oracle reports in one of a few worlds.
    private func found(_ sabotage: Sabotage, steps: Int = 160) throws -> Set<Int> {
        var laws: Set<Int> = []
        for seed in UInt64(1)...8 {
            let plan = World.Plan(seed: seed, steps: steps, sabotage: sabotage)
            guard let violation = try Shrinker.run(plan).violation else { continue }
            laws.insert(violation.law)
            if laws.count == 1, seed > 2 { break }
        }
        return laws
    }

    @Test func `law 1: a disk whose sync does nothing is found`() throws {
        let laws = try found(.diskLies)
        #expect(laws.contains(1), "\(laws)")
    }

    @Test func `law 2: a push that a client never gets is found`() throws {
        let laws = try found(.clientLosesPush)
        #expect(laws == [2], "\(laws)")
    }

    @Test func `law 3: a batch that is gone after a crash is found`() throws {
        let laws = try found(.losesLastBatch)
        #expect(laws.contains(3), "\(laws)")
    }

    @Test func `law 3: numbers that are leased twice are found`() throws {
        let laws = try found(.losesCheckpoint)
        #expect(laws.contains(3), "\(laws)")
    }

    @Test func `law 3: a save that is applied twice is found`() throws {
        let laws = try found(.ignoresFloor)
        #expect(laws.contains(3), "\(laws)")
    }

    @Test func `law 3: a read from the past is found`() throws {
        let laws = try found(.readsOldAnswers)
        #expect(laws == [3], "\(laws)")
    }

    @Test func `law 4: a verdict that says the opposite is found`() throws {
        let laws = try found(.turnsVerdicts)
        #expect(laws == [4], "\(laws)")
    }

    @Test func `law 6: a row that no transaction made is found`() throws {
        let laws = try found(.writesIntoStore)
        #expect(laws.contains(6), "\(laws)")
    }

    @Test func `law 7: a client that is expired for nothing is found`() throws {
        let laws = try found(.expiresSession)
        #expect(laws == [7], "\(laws)")
    }

    @Test func `a session that is in no queue is found`() throws {
        let laws = try found(.forgetsSession)
        #expect(laws == [0], "\(laws)")
    }

    @Test func `law 8: a queue over its limit is found`() throws {
        let laws = try found(.overfillsSession)
        #expect(laws == [8], "\(laws)")
    }
}

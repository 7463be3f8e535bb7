import TestSupport
import Testing

/// Sabotaged worlds have to be reported; otherwise the oracle's silence would mean nothing.
@Suite(.ownThread) struct NegativeControlTests {
    /// Returns the laws that the oracle reports as broken in a few worlds.
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

    @Test func `law 2: a push that a client never receives is found`() throws {
        let laws = try found(.clientLosesPush)
        #expect(laws == [2], "\(laws)")
    }

    @Test func `law 3: a batch that is lost in a crash is found`() throws {
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

    @Test func `law 3: a stale read is found`() throws {
        let laws = try found(.readsOldAnswers)
        #expect(laws == [3], "\(laws)")
    }

    @Test func `law 4: an inverted verdict is found`() throws {
        let laws = try found(.turnsVerdicts)
        #expect(laws == [4], "\(laws)")
    }

    @Test func `law 6: a row that no transaction made is found`() throws {
        let laws = try found(.writesIntoStore)
        #expect(laws.contains(6), "\(laws)")
    }

    @Test func `law 7: a client that is expired without reason is found`() throws {
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

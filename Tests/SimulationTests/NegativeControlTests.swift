import Testing

/// What is broken on purpose has to be found; otherwise the oracle's silence means nothing.
@Suite struct NegativeControlTests {
    /// The law that the oracle reports in one of a few worlds.
    private func found(_ sabotage: Sabotage, steps: Int = 220) throws -> Set<Int> {
        var laws: Set<Int> = []
        for seed in UInt64(1)...8 {
            let plan = World.Plan(seed: seed, steps: steps, sabotage: sabotage)
            if let violation = try Shrinker.run(plan).violation { laws.insert(violation.law) }
        }
        return laws
    }

    @Test func `law 1: a disk whose sync does nothing is found`() throws {
        #expect(try found(.diskLies).contains(1))
    }

    @Test func `law 2: a push that a client never gets is found`() throws {
        #expect(try found(.clientLosesPush) == [2])
    }

    @Test func `law 3: a batch that is gone after a crash is found`() throws {
        #expect(try found(.losesLastBatch).contains(3))
    }

    @Test func `law 3: numbers that are leased twice are found`() throws {
        #expect(try found(.losesCheckpoint).contains(3))
    }

    @Test func `law 3: a save that is applied twice is found`() throws {
        #expect(try found(.ignoresFloor).contains(3))
    }

    @Test func `law 3: a read from the past is found`() throws {
        #expect(try found(.readsOldAnswers) == [3])
    }

    @Test func `law 6: a row that no transaction made is found`() throws {
        #expect(try found(.writesIntoStore).contains(6))
    }

    @Test func `law 8: a queue over its limit is found`() throws {
        #expect(try found(.overfillsSession) == [8])
    }
}

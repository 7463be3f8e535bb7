import TandemDaemon
import TandemModel
import TandemResults
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// Random saves through a real daemon, observed by controllers of many kinds (laws 4 and 5).
///
/// Every list is compared with a fresh one, and with the result of the plain rules on a dump of the
/// graph.
@MainActor @Suite(.serialized) struct ResultsLawTests {
    @Test(arguments: 0..<Seed.worlds(3, deep: 6))
    func `laws 4 and 5: every list equals a fresh fetch, and its changes produce it`(_ run: Int)
        async throws
    {
        let fixture = try fixture(run)
        var random = SplitMix(Seed.value(run))
        let world = try RandomWorld(fixture.transport, &random)
        let watched = try world.controllers(count: 10, &random)
        try await check(world, watched, rounds: Volume.of(18, deep: 40), run, &random)
    }

    @Test(arguments: 0..<Seed.worlds(2, deep: 4))
    func `laws 4 and 5: windows equal a fresh fetch, however few rows beyond are held`(_ run: Int)
        async throws
    {
        let fixture = try Fixture([])
        var random = SplitMix(Seed.value(run))
        let world = try RandomWorld(fixture.transport, windowSlack: run % 4, &random)
        for _ in 0..<10 { try world.save(&random) }
        let watched = try world.controllers(count: 12, isLimited: true, &random)
        try await check(world, watched, rounds: Volume.of(26, deep: 60), run, &random)
    }

    @Test(arguments: 0..<Seed.worlds(2, deep: 4))
    func `laws 4 and 5: lists follow batches like saves`(_ run: Int) async throws {
        let fixture = try Fixture([])
        var random = SplitMix(Seed.value(run))
        let world = try RandomWorld(fixture.transport, windowSlack: 1 + run % 3, &random)
        let watched = try world.controllers(count: 8, &random)
        for round in 0..<Volume.of(20, deep: 30) {
            await Task.yield()
            var position = try world.save(&random)
            if random.next(2) == 0 { position = try world.batch(&random) }
            if random.next(3) == 0 { continue }
            try reach(world.reader, position)
            try check(world, watched, round, run)
        }
    }

    @Test(arguments: 0..<Seed.worlds(2, deep: 3))
    func `laws 4 and 5: lists survive restarts, new epochs, lost connections and pauses`(
        _ run: Int
    ) async throws {
        let fixture = try fixture(run)
        var random = SplitMix(Seed.value(run))
        let world = try RandomWorld(fixture.transport, isHarsh: true, windowSlack: run % 4, &random)
        let watched = try world.controllers(count: 8, &random)
        for round in 0..<Volume.of(20, deep: 30) {
            let position = try trouble(world, fixture, &random)
            // A reader that merges automatically gets a chance to do so.
            for _ in 0...random.next(4) { await Task.yield() }
            guard random.next(3) > 0 else { continue }
            try catchUp(world.reader, position, &random)
            try check(world, watched, round, run)
        }
    }

    /// Returns a fixture; in every other run its answers are chunked by object.
    private func fixture(_ run: Int) throws -> Fixture {
        var limits = DaemonLimits()
        if run % 2 == 1 { limits.chunkBytes = 1 }
        return try Fixture([], limits: limits)
    }

    /// Makes a save, or an interruption that must not matter.
    private func trouble(
        _ world: RandomWorld, _ fixture: Fixture, _ random: inout SplitMix
    ) throws -> Position {
        switch random.next(12) {
        case 0: try fixture.restart()
        case 1: try fixture.restart(raisesEpoch: true)
        case 2: fixture.cutConnections()
        default: try world.disturb(&random)
        }
        return try world.save(&random)
    }

    /// Moves the reader to a position, in one of several ways.
    private func catchUp(
        _ reader: ManagedObjectContext, _ position: Position, _ random: inout SplitMix
    ) throws {
        if random.next(3) == 0 {
            #expect(try reader.resume() == position)
        } else {
            #expect(try reader.reach(position) == position)
        }
    }

    private func check(
        _ world: RandomWorld, _ watched: [Watch], rounds: Int, _ run: Int,
        _ random: inout SplitMix
    ) async throws {
        for round in 0..<rounds {
            // Other tests wait for the main actor too.
            await Task.yield()
            let position = try world.save(&random)
            // Sometimes several saves are merged as one.
            if random.next(3) == 0 { continue }
            try reach(world.reader, position)
            try check(world, watched, round, run)
        }
    }

    private func reach(_ reader: ManagedObjectContext, _ position: Position) throws {
        #expect(try reader.reach(position) == position)
    }

    private func check(_ world: RandomWorld, _ watched: [Watch], _ round: Int, _ run: Int) throws {
        let problems = try world.problems(watched)
        #expect(problems.isEmpty, "TANDEM_SEED=\(Seed.value(run)) round \(round)")
    }
}

/// Random edits of a window of a result, compared with the whole result (law 4).
@Suite(.ownThread) struct WindowRowsTests {
    @Test(arguments: 0..<20)
    func `law 4: the rows held up to the edge are the beginning of the whole result`(
        _ run: Int
    ) {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        func row(_ number: Int) -> ResultRow {
            ResultRow(number: UInt64(number), sortKey: [UInt8(random.next(12))])
        }
        var all = WindowRows((1...20).map(row), edge: nil)
        let start = Array(all.rows.prefix(3 + random.next(9)))
        var held = WindowRows(start, edge: start.last)
        for round in 0..<200 {
            let edits = ListEdits(
                removed: [UInt64(1 + random.next(30))], upserted: [row(1 + random.next(30))])
            all.apply(edits)
            held.apply(edits)
            if held.rows.count > 15 { _ = held.trim(to: 5 + random.next(5)) }
            let expected = all.rows.prefix(held.rows.count)
            #expect(held.rows[...] == expected, "seed \(seed) round \(round)")
        }
    }
}

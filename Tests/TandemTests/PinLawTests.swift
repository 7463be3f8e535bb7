import TandemDaemon
import TandemModel
import TandemWire
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// Pinned contexts compared with dumps of the graph at their positions, while others save.
@MainActor @Suite(.serialized) struct PinLawTests {
    /// The graph at a position.
    private struct Moment {
        let position: Position
        let dump: Dump
    }

    @Test(arguments: 0..<Seed.worlds(2, deep: 4))
    func
        `laws 4 and 5: a context shows the graph at its pin, and moving it is one change`(
            _ run: Int
        ) async throws
    {
        let fixture = try Fixture([])
        var random = SplitMix(Seed.value(run))
        let world = try RandomWorld(fixture.transport, windowSlack: run % 4, &random)
        var watched = try world.controllers(count: 6, &random)
        watched += try world.controllers(count: 4, isLimited: true, &random)
        try await check(world, watched, rounds: Volume.of(18, deep: 40), run, &random) { _ in }
    }

    @Test(arguments: 0..<Seed.worlds(2, deep: 3))
    func
        `laws 4 and 5: pins survive restarts, lost connections and retention, or report their end`(
            _ run: Int
        ) async throws
    {
        var limits = DaemonLimits()
        limits.checkpointIdleMilliseconds = 1
        limits.checkpointMilliseconds = 1
        let fixture = try Fixture([], limits: limits) { configuration in
            configuration.segmentBytes = 8 << 10
            configuration.retention.keepBytes = 16 << 10
        }
        var random = SplitMix(Seed.value(run))
        let world = try RandomWorld(fixture.transport, isHarsh: true, windowSlack: run % 4, &random)
        let watched = try world.controllers(count: 6, &random)
        try await check(world, watched, rounds: Volume.of(24, deep: 60), run, &random) { random in
            switch random.next(8) {
            case 0: try fixture.restart()
            case 1: fixture.cutConnections()
            case 2: for _ in 0..<20 { try world.save(&random) }
            default: break
            }
        }
    }

    private func check(
        _ world: RandomWorld, _ watched: [Watch], rounds: Int, _ run: Int,
        _ random: inout SplitMix, trouble: (inout SplitMix) throws -> Void
    ) async throws {
        let beginnings = Beginnings()
        world.reader.participants.add(beginnings)
        var moments = [Moment(position: try world.end(), dump: try world.dump())]
        for round in 0..<rounds {
            // Contexts that merge automatically get a chance to do so; a pinned context must not.
            for _ in 0...random.next(4) { await Task.yield() }
            try trouble(&random)
            try world.save(&random)
            moments.append(Moment(position: try world.end(), dump: try world.dump()))
            let what: Comment = "TANDEM_SEED=\(Seed.value(run)) round \(round)"
            guard let moment = try move(world, moments, &random, what) else { continue }
            var problems = try watched.flatMap { try $0.problems(moment.dump) }
            // After lost history it is unknown which rows are unchanged.
            if beginnings.count > 0 { problems.removeAll { $0.hasPrefix("law 5, reported") } }
            beginnings.count = 0
            let differing = try Dump(world.reader).differences(from: moment.dump)
            if !differing.isEmpty { problems.append("differing: \(differing)") }
            try #require(problems.isEmpty, what)
            #expect(world.reader.position == moment.position, what)
        }
    }

    /// Moves the reader, or leaves it where it is.
    ///
    /// Returns the state that it must show then, or nil if its pin has ended.
    private func move(
        _ world: RandomWorld, _ moments: [Moment], _ random: inout SplitMix, _ what: Comment
    ) throws -> Moment? {
        let reader = world.reader
        let chosen = moments[max(0, moments.count - 1 - random.next(12))]
        let before = (reader.position, reader.pinnedPosition)
        do {
            switch random.next(8) {
            case 0: #expect(try reader.unpin() == reader.position)
            case 1: try reader.reach(chosen.position)
            case 2: try reader.pin()
            case 3...5:
                #expect(try reader.pin(at: chosen.position) == chosen.position, what)
            default: break
            }
            // An unpinned reader merges whenever it reads.
            if reader.pinnedPosition == nil {
                try reader.reach(moments[moments.count - 1].position)
            }
            _ = try Dump(reader)
        } catch let error as TandemError {
            #expect(error.code == .historyExpired, "\(error) \(what)")
            // A context that could not be pinned keeps its position.
            if before.1 == nil, reader.pinnedPosition == nil, before.0 != nil {
                try reader.reach(moments[moments.count - 1].position)
            }
            if reader.pinnedPosition != nil, random.next(2) == 0 { try reader.unpin() }
            return nil
        }
        let position = try #require(reader.position)
        let moment = moments.first { $0.position == position }
        #expect(moment != nil, "\(position) \(what)")
        return moment
    }
}

/// Counts the restarts of a context.
private final class Beginnings: MergeParticipant {
    var count = 0

    func step(_ group: MergedGroup, _ verdicts: [Verdict]?) { if group.isRestart { count += 1 } }

    func deliver() {}
}

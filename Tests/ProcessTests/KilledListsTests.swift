import Glibc
import Tandem
import TandemIO
import TestSupport
import TestWorlds
import Testing

/// Random worlds whose daemon process is killed or stopped while lists are observed (laws 4 and 5).
@MainActor @Suite(.serialized) struct KilledListsTests {
    @Test(arguments: 0..<Seed.worlds(2, deep: 2))
    func `laws 4 and 5: lists survive a daemon that is killed in the middle of saves`(
        _ run: Int
    ) async throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let daemon = try MortalDaemon(&random)
        defer { daemon.end(SIGKILL) }
        let world = try RandomWorld(
            .socketPath(daemon.place.socket), isHarsh: true, windowSlack: run % 4, &random)
        let watched = try world.controllers(count: 8, &random)
        for round in 0..<Volume.of(16, deep: 30) {
            try saves(world, daemon, &random)
            try world.disturb(&random)
            for _ in 0...random.next(4) { await Task.yield() }
            guard random.next(3) > 0 else { continue }
            try catchUp(world, &random)
            let problems = try world.problems(watched)
            #expect(problems.isEmpty, "TANDEM_SEED=\(seed) round \(round)")
        }
    }

    /// Saves a few times; the daemon may be replaced in the middle of the saves.
    private func saves(
        _ world: RandomWorld, _ daemon: MortalDaemon, _ random: inout SplitMix
    ) throws {
        let killer = random.next(4) == 0 ? try daemon.replace(&random) : nil
        for _ in 0..<(1 + random.next(3)) {
            do {
                try world.save(&random)
            } catch let error as TandemError {
                // Inserts under a lease of the previous epoch may be refused.
                #expect(error.code != .storage && error.code != .timeout, "\(error)")
                world.rollback()
            }
        }
        killer?.join()
    }

    private func catchUp(_ world: RandomWorld, _ random: inout SplitMix) throws {
        let end = try world.end()
        if random.next(3) == 0 {
            #expect(try world.reader.resume() == end)
        } else {
            #expect(try world.reader.reach(end) == end)
        }
    }
}

/// A daemon process and its successors, each with full or relaxed durability.
///
/// With relaxed durability, a kill raises the epoch.
private final class MortalDaemon: Sendable {
    let place: Place
    private let process: Locked<DaemonProcess>

    init(_ random: inout SplitMix) throws {
        place = try Place()
        process = Locked(try Self.start(place, isRelaxed: random.next(2) == 0))
    }

    private static func start(_ place: Place, isRelaxed: Bool) throws -> DaemonProcess {
        let daemon = try DaemonProcess(
            "tandemd",
            [
                "--store", place.store, "--socket", place.socket, "--segment-mebibytes", "1",
                "--durability", isRelaxed ? "relaxed" : "full",
            ])
        let lines = daemon.readOutput { $0.contains("ready:") }
        try #require(lines.contains("ready:"), "the daemon did not start: \(lines)")
        return daemon
    }

    func end(_ signal: Int32) { process.withLock { _ = $0.end(signal) } }

    /// Ends the daemon after a random short delay, and starts another.
    func replace(_ random: inout SplitMix) throws -> KernelThread {
        let signal = random.next(3) == 0 ? SIGTERM : SIGKILL
        let isRelaxed = random.next(2) == 0
        let moments = random.next(2_000)
        return try KernelThread.start(name: "killer") { [self] in
            for _ in 0..<moments { sched_yield() }
            end(signal)
            do {
                let next = try Self.start(place, isRelaxed: isRelaxed)
                process.withLock { $0 = next }
            } catch {
                Issue.record(error)
            }
        }
    }
}

import FoundationEssentials
import TandemIO
import TandemModel
import TandemWire
import TestSupport

@testable import TandemDaemon
@testable import TandemStore

/// A machine, a daemon and its clients, made from one seed; runs step by step, and is checked after
/// each step.
///
/// Every step draws from a stream of its own, so that omitting a step (``Plan/skipped``) does not
/// change the others.
final class World {
    /// The parameters of a world.
    struct Plan {
        var seed: UInt64
        var steps = 160
        var skipped: Set<Int> = []
        var sabotage: Sabotage?
        /// Whether limits are small and the daemon ends more often.
        var isHarsh = false
        /// Whether clients read the past and request verdicts; nil for a third of the seeds.
        var readsPast: Bool?
    }

    let plan: Plan
    let machine: Machine
    let oracle: Oracle
    let settings: SimulatedDaemon.Settings
    let traits: Traits
    let directory: ScratchDirectory
    let clients: [SimulatedClient]
    var daemon: SimulatedDaemon?
    var pipes: [Pipe] = []
    var backup: Backup?
    /// The newest model that a client may install.
    var stage = 0
    private(set) var trace = Trace()
    var counters = WorldCounters()

    /// The properties of the whole world, determined by the seed.
    struct Traits {
        var isRelaxed = false
        var isFat = false
        var faultShare = 4
        var savesKept: UInt64 = 1_000_000
        var hasBatches = false
        var readsPast = false
    }

    init(_ plan: Plan) throws {
        var chance = Chance(plan.seed, 0)
        self.plan = plan
        directory = try ScratchDirectory()
        machine = Machine(journal: directory.path + "/journal")
        var traits = Traits()
        traits.isRelaxed = chance.percent(15)
        traits.isFat = chance.percent(15)
        traits.faultShare = [0, 3, 5, 7][chance.below(4)]
        if chance.percent(25) { traits.savesKept = UInt64(chance.number(5...40)) }
        if plan.sabotage == .ignoresFloor { traits.savesKept = 3 }
        // Depends on the seed alone, so that the other worlds are the same as before these
        // features.
        traits.hasBatches = [2, 4, 5].contains(plan.seed % 7)
        traits.readsPast = plan.readsPast ?? (plan.seed % 3 == 1)
        self.traits = traits
        oracle = Oracle(machine, isRelaxed: traits.isRelaxed, savesKept: traits.savesKept)
        // A separate stream, so that drawing these settings does not change the rest of the world.
        var slices = Chance(plan.seed, .max)
        var settings = World.settings(traits, directory.path, &chance, &slices)
        if plan.isHarsh {
            var harsh = Chance(plan.seed, .max - 1)
            settings.limits.makeSmall(&harsh)
        }
        var reads = Chance(plan.seed, .max - 2)
        if reads.percent(60) { settings.smallReadWork = 0 }
        settings.readPercent = [20, 50, 100][reads.below(3)]
        self.settings = settings
        let oracle = oracle
        clients = (0..<chance.number(2...5)).map { number in
            SimulatedClient(number, uid: UInt32(100 + number % 3), oracle)
        }
    }

    private static func settings(
        _ traits: Traits, _ directory: String, _ chance: inout Chance, _ slices: inout Chance
    ) -> SimulatedDaemon.Settings {
        var settings = SimulatedDaemon.Settings(
            directory: directory, log: LogID(high: chance.next(), low: chance.next()))
        settings.durability = traits.isRelaxed ? .relaxed : .full
        settings.limits.savesKept = Int(traits.savesKept)
        settings.segmentBytes = traits.isFat ? 256 << 10 : [8, 12, 20, 64][chance.below(4)] << 10
        settings.salt = UInt32(truncatingIfNeeded: chance.next())
        if chance.percent(40) { settings.limits.ringTransactions = chance.number(1...12) }
        // The result is unused, but without this draw the seeds of `RegressionTests` would produce
        // other worlds.
        _ = chance.percent(30)
        if traits.hasBatches { settings.batchObjects = 1 + Int(traits.savesKept % 3) }
        if slices.percent(40) { settings.limits.sliceReads = slices.number(1...6) }
        if slices.percent(50) { settings.limits.chunkBytes = slices.number(1...300) }
        return settings
    }

    // MARK: Running

    /// Runs to the end, or until the first violation, which is returned.
    func run() -> Violation? {
        apply(plan.sabotage)
        start()
        for step in 1...plan.steps where !plan.skipped.contains(step) {
            guard oracle.violation == nil else { break }
            var chance = Chance(plan.seed, UInt64(step))
            record("step", UInt64(step))
            act(&chance)
            if plan.isHarsh { disturbMore(step) }
            sabotageDaemon()
            checkInvariants()
        }
        if oracle.violation == nil { settle() }
        count()
        daemon?.vanish()
        daemon = nil
        return oracle.violation
    }

    private func count() {
        counters.transactions = Int(oracle.truth.last)
        counters.reads = clients.reduce(0) { $0 + $1.reads }
        for client in clients {
            let answers = client.saves.compactMap(\.answer)
            counters.saves += answers.count
            counters.lostAnswers += answers.count(where: \.isRepeat)
            counters.pastAnswerCount += client.pastAnswerCount
            counters.batches += client.batches.count { $0.answer?.count ?? 0 > 0 }
        }
        counters.jobs += daemon?.readers.carriedOut ?? 0
        counters.interruptions += daemon?.readers.interrupted ?? 0
    }

    func record(_ what: StaticString, _ a: UInt64 = 0, _ b: UInt64 = 0, _ c: UInt64 = 0) {
        trace.record(what, a, b, c)
    }

    /// Checks the conditions that hold between any two steps.
    private func checkInvariants() {
        guard let daemon else { return }
        oracle.mustBeDurable(daemon.committer.position, "the committer")
        for session in daemon.engine.admission.sessions.values {
            oracle.measure(session, settings.limits)
            oracle.expect(
                daemon.engine.queues.isScheduled(session)
                    && session.wants == session.output.watched, 0,
                "a session is stuck: \(describe(session))")
        }
        oracle.expect(
            daemon.engine.admission.sessions.count <= DaemonLimits().connections, 8,
            "too many sessions")
    }

    // MARK: The daemon

    /// Starts the daemon, and retries while planned faults end it.
    func start() {
        for _ in 0..<20 where daemon == nil && oracle.violation == nil {
            do {
                let started = try SimulatedDaemon(
                    on: machine, settings,
                    observe: { [unowned self] moment, position in
                        guard moment == .before else { return }
                        oracle.commits(position)
                        record("commit", position)
                    })
                daemon = started
                counters.starts += 1
                let last = started.committer.position
                let epoch = started.engine.position.epoch
                record("start", last, UInt64(epoch))
                oracle.recheck(last: last, epoch: epoch)
            } catch {
                startFailed(error)
            }
        }
    }

    private func startFailed(_ error: any Error) {
        let isOurs = machine.isDead || machine.hasFailed || machine.disk.capacityBytes != nil
        record("start failed", isOurs ? 1 : 0)
        oracle.expect(isOurs, 3, "the daemon does not start: \(error)")
        machine.endProcess()
        machine.disk.capacityBytes = nil
    }

    /// Runs one round of the daemon's loop, with some of the ready pipes.
    func round(_ chance: inout Chance, all: Bool = false) {
        guard let daemon else { return start() }
        let drawn = chance.next()
        var choice = Chance(drawn)
        var jobs = Chance(drawn, 1)
        daemon.readers.choose = { [settings] count in
            if all { return (0, .max) }
            guard jobs.percent(settings.readPercent) else { return nil }
            return (jobs.below(count), jobs.number(1...4))
        }
        daemon.readiness.choose = { ready in
            all ? ready : choice.shuffled(ready.filter { _ in choice.percent(75) })
        }
        for pipe in pipes { pipe.beginRound() }
        counters.rounds += 1
        do {
            _ = try daemon.loop.pass()
            record("round", daemon.committer.position, daemon.committer.counters.checkpoints.count)
        } catch {
            record("round failed")
            oracle.expect(
                machine.isDead || machine.hasFailed, 0, "the daemon ends by itself: \(error)")
            machine.die()
        }
        if machine.isDead || machine.endRound() { crash(&chance) }
    }

    /// Ends the process, and in some cases cuts the power.
    func crash(_ chance: inout Chance) {
        counters.crashes += 1
        let share = chance.below(256)
        for pipe in pipes where !pipe.daemonHasClosed { pipe.cutRound(share) }
        daemon?.vanish()
        daemon = nil
        if traits.isRelaxed { dropEverything() }
        if chance.percent(55) {
            let severity = CrashSeverity.allCases[chance.below(3)]
            record("power cut", oracle.truth.last)
            machine.cutPower(seed: chance.next(), severity)
        } else {
            record("process dies", oracle.truth.last)
            machine.endProcess()
        }
        if plan.sabotage == .losesLastBatch { loseLastBatch() }
        if plan.sabotage == .losesCheckpoint { try? directory.restoreStore() }
        if chance.percent(25) { armFaults(&chance) }
        start()
    }

    /// Drops everything in flight.
    func dropEverything() {
        for client in clients { client.leave { $0.reset() } }
        pipes = []
    }
}

/// Counters of a world's events, to check that the world was not trivial.
struct WorldCounters {
    var starts = 0
    var rounds = 0
    var crashes = 0
    var restores = 0
    var full = 0
    var trims = 0
    var connections = 0
    var transactions = 0
    var saves = 0
    var lostAnswers = 0
    var reads = 0
    var batches = 0
    var pastAnswerCount = 0
    /// The number of turns of the last daemon's readers that ended in the middle of a job.
    var interruptions = 0
    /// The number of jobs that readers ran for the last daemon.
    var jobs = 0

    static func += (sum: inout WorldCounters, other: WorldCounters) {
        sum.starts += other.starts
        sum.rounds += other.rounds
        sum.crashes += other.crashes
        sum.restores += other.restores
        sum.full += other.full
        sum.trims += other.trims
        sum.connections += other.connections
        sum.transactions += other.transactions
        sum.saves += other.saves
        sum.lostAnswers += other.lostAnswers
        sum.reads += other.reads
        sum.batches += other.batches
        sum.pastAnswerCount += other.pastAnswerCount
        sum.jobs += other.jobs
        sum.interruptions += other.interruptions
    }
}

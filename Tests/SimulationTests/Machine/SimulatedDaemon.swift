import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

@testable import TandemDaemon
@testable import TandemStore

/// A daemon's process on the simulated machine: the real start, loop, sessions, committer and
/// journal.
final class SimulatedDaemon {
    let committer: Committer
    let engine: Engine
    let loop: ServiceLoop
    let readiness = SimulatedPoller()
    let readers: SimulatedReaders

    /// The settings that all daemons of a world share.
    struct Settings {
        var directory: String
        var log: LogID
        var segmentBytes = 16 << 10
        var limits = DaemonLimits()
        /// The number of objects in one transaction of a batch.
        var batchObjects = WireLimits.batchObjects
        var durability = Durability.full
        var salt: UInt32 = 1
        /// The number of objects that a read answered on the daemon's thread may evaluate.
        var smallReadWork = DaemonLimits.smallReadWork
        /// The probability in percent that a reader runs in a turn.
        var readPercent = 100
    }

    /// Starts a daemon on the machine's disk and the store's directory.
    ///
    /// `observe` is called around the store's commits, before the machine decides their outcome.
    init(
        on machine: Machine, _ settings: Settings,
        observe: @escaping (Store.CommitMoment, UInt64) -> Void
    ) throws {
        machine.begin()
        var configuration = DaemonConfiguration(store: settings.directory)
        configuration.segmentBytes = settings.segmentBytes
        configuration.durability = settings.durability
        configuration.limits = settings.limits
        var environment = DaemonEnvironment()
        environment.fileSystem = MachineFileSystem(machine)
        environment.clock = machine.clock
        environment.newLog = { settings.log }
        environment.makeSalt = { settings.salt }
        committer = try Daemon.recover(configuration, environment)
        committer.store.observeCommits { (moment, position) throws(StoreError) in
            observe(moment, position)
            try machine.commit(moment)
        }
        engine = Engine(
            committer: committer, clock: machine.clock, storePath: settings.directory,
            log: DaemonLog { _, _ in })
        engine.batches.setMost(settings.batchObjects)
        engine.reads.smallReadWork = settings.smallReadWork
        readers = SimulatedReaders(machine.clock)
        engine.reads.setReaders(readers)
        loop = try ServiceLoop(engine, listener: nil, poller: readiness)
    }

    /// Accepts a client's connection.
    func connect(_ pipe: Pipe, uid: UInt32, pid: Int32) {
        let peer = PeerCredentials(uid: uid, gid: uid, pid: pid)
        guard let session = engine.connect(pipe, of: peer) else { return pipe.shutdown() }
        readiness.add(pipe)
        loop.watch(session)
    }

    /// Ends the process: LMDB drops the open transactions, and the kernel closes the files.
    func vanish() {
        engine.reads.close()
        committer.store.close()
    }
}

import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire

@testable import TandemDaemon
@testable import TandemStore

/// A daemon's process on the simulated machine: the real start, loop, sessions, committer and journal.
final class SimulatedDaemon {
    let committer: Committer
    let engine: Engine
    let loop: ServiceLoop
    let readiness = SimulatedReadiness()
    /// Jobs are carried out on the daemon's thread, one in a turn.
    let readers = ReadsInTurns()

    /// What a world decides once for all its daemons.
    struct Settings {
        var directory: String
        var log: LogID
        var segmentBytes = 16 << 10
        var limits = DaemonLimits()
        /// Objects in one transaction of a batch.
        var batchObjects = WireLimits.batchObjects
        var durability = Durability.full
        var salt: UInt32 = 1
        /// Objects that a read which is answered at once looks at.
        var littleWork = DaemonLimits.littleWork
        /// With what chance a job is carried out in a turn.
        var readPercent = 100
    }

    /// Starts on what is on the machine's disk and in the store's directory.
    ///
    /// `observe` is called around the store's commits, before the machine decides over them.
    init(
        on machine: Machine, _ settings: Settings,
        observe: @escaping (Store.CommitMoment, UInt64) -> Void
    ) throws {
        machine.begin()
        var configuration = DaemonConfiguration(store: settings.directory)
        configuration.segmentBytes = settings.segmentBytes
        configuration.durability = settings.durability
        configuration.limits = settings.limits
        var surroundings = Surroundings()
        surroundings.fileSystem = MachineFileSystem(machine)
        surroundings.clock = machine.clock
        surroundings.newLog = { settings.log }
        surroundings.makeSalt = { settings.salt }
        committer = try Daemon.recover(configuration, surroundings)
        committer.store.observeCommit = { (moment, position) throws(StoreError) in
            observe(moment, position)
            try machine.commit(moment)
        }
        engine = Engine(
            committer: committer, clock: machine.clock, storePath: settings.directory,
            log: DaemonLog { _, _ in })
        engine.batches.most = settings.batchObjects
        engine.littleWork = settings.littleWork
        engine.readers = readers
        loop = try ServiceLoop(engine, listener: nil, poller: readiness)
    }

    /// Takes a client's connection in.
    func connect(_ pipe: Pipe, uid: UInt32, pid: Int32) {
        let peer = PeerCredentials(uid: uid, gid: uid, pid: pid)
        guard let session = engine.connect(pipe, of: peer) else { return pipe.shutdown() }
        readiness.add(pipe)
        loop.watch(session)
    }

    /// The process is gone: LMDB drops the open transactions, the kernel closes the files.
    func vanish() {
        engine.closeReaders()
        committer.store.close()
    }
}

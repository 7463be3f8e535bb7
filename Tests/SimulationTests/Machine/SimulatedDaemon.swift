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
        loop = try ServiceLoop(engine, listener: nil, poller: readiness)
    }

    /// Takes a client's connection in.
    func connect(_ pipe: Pipe, uid: UInt32, pid: Int32) {
        let peer = PeerCredentials(uid: uid, gid: uid, pid: pid)
        guard let session = engine.connect(pipe, of: peer) else { return pipe.shutdown() }
        readiness.add(pipe)
        loop.watch(session)
    }

    /// The process is gone: LMDB drops the open transaction, the kernel closes the files.
    func vanish() { committer.store.close() }
}

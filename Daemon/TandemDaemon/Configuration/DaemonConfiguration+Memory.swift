import TandemIO

extension DaemonConfiguration {
    /// Where the kernel keeps files in memory.
    static let memory = "/dev/shm"

    /// A daemon that keeps nothing, for tests: another one for each call.
    ///
    /// It does all that one on a disk does, but its journal lies in memory and is synced at once. The store is LMDB's file as ever,
    /// in `/dev/shm`; it has a name only while the daemon opens it, so that nothing is left however the process ends. Whoever
    /// kills the process in these milliseconds leaves a directory `/dev/shm/tandem-…`, which may be removed.
    public static func inMemory() -> DaemonConfiguration {
        let name = ThisProcess.randomBytes(8).map { String($0, radix: 16) }.joined()
        var configuration = DaemonConfiguration(
            store: "\(memory)/tandem-\(ThisProcess.processID)-\(name)")
        configuration.isInMemory = true
        configuration.segmentBytes = 1 << 20
        return configuration
    }

    /// What the daemon stands on.
    func surroundings() -> Surroundings {
        var surroundings = Surroundings()
        if isSupervised { surroundings.supervision = .systemd(surroundings.clock) }
        guard isInMemory else { return surroundings }
        let files = SimulatedFileSystem()
        files.recordsOperations = false
        surroundings.fileSystem = files
        return surroundings
    }

    /// Takes the names away that a daemon in memory needed to open its files.
    func forgetNames() throws(IOError) {
        if isInMemory { try RealFileSystem().removeTree(store) }
    }
}

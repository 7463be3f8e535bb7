import TandemIO

extension DaemonConfiguration {
    /// The directory of the kernel's in-memory file system.
    static let memory = "/dev/shm"

    /// Returns the configuration of a daemon without persistence, for tests; each call returns a
    /// different one.
    ///
    /// The daemon behaves like one with a disk, but its journal is in memory, and syncs are
    /// immediate. The store is a normal LMDB file in `/dev/shm`. The file has a name only while the
    /// daemon opens it, so that nothing remains after the process ends. If the process is killed in
    /// the meantime, a directory `/dev/shm/tandem-…` remains, which may be removed.
    public static func inMemory() -> DaemonConfiguration {
        let name = ThisProcess.randomBytes(8).map { String($0, radix: 16) }.joined()
        var configuration = DaemonConfiguration(
            store: "\(memory)/tandem-\(ThisProcess.processID)-\(name)")
        configuration.isInMemory = true
        configuration.segmentBytes = 1 << 20
        return configuration
    }

    /// Returns the dependencies of the daemon: file system, clock and supervision.
    func environment() -> DaemonEnvironment {
        var environment = DaemonEnvironment()
        if isSupervised { environment.notifier = .systemd(environment.clock) }
        guard isInMemory else { return environment }
        let files = SimulatedFileSystem()
        files.recordsOperations = false
        environment.fileSystem = files
        return environment
    }

    /// Removes the names of the files that a daemon in memory has opened.
    func forgetNames() throws(IOError) {
        if isInMemory { try RealFileSystem().removeTree(store) }
    }
}

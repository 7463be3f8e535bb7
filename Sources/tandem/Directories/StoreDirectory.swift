import ArgumentParser
import Tandem
import TandemIO
import TandemStore

/// The options of verbs that read or repair a store's directory without the daemon.
struct StoreDirectory: ParsableArguments {
    @Option(
        name: [.customShort("D"), .long],
        help: "The store's directory (TANDEM_STORE); by default the store of --name.")
    var directory: String?

    @Option(help: "The daemon's name (TANDEM_NAME), else `default`.")
    var name: String?

    func validate() throws { try DaemonName.check(name) }

    /// Throws a failure if only TANDEM_SOCKET names a daemon, whose store has an unknown path.
    ///
    /// Otherwise the verb would read the files of a different daemon.
    func checkIsNamed() throws {
        guard directory == nil, name == nil, variable("TANDEM_STORE") == nil,
            variable("TANDEM_NAME") == nil, variable("TANDEM_SOCKET") != nil
        else { return }
        throw CommandFailure(
            "this verb reads a store's files, but TANDEM_SOCKET names only a socket; give the "
                + "directory with -D or TANDEM_STORE (`tandem status` prints it)", code: 2)
    }

    private func variable(_ name: String) -> String? { GlobalOptions.variable(name) }

    /// The directory of store and journal.
    var path: String {
        if let directory { return directory }
        if name == nil, let path = variable("TANDEM_STORE") { return path }
        let name = name ?? variable("TANDEM_NAME") ?? "default"
        guard ThisProcess.effectiveUserID != 0, ThisProcess.environment("XDG_RUNTIME_DIR") != nil
        else { return "/var/lib/tandem/\(name)" }
        let home = ThisProcess.environment("HOME") ?? "/"
        let state = ThisProcess.environment("XDG_STATE_HOME") ?? home + "/.local/state"
        return "\(state)/tandem/\(name)"
    }

    /// The store and journal in the directory.
    var folder: StoreFolder { StoreFolder(path) }
    /// The directory of the LMDB files.
    var store: String { folder.store }
    /// The directory of the segments.
    var journal: String { folder.journal }

    /// Opens the store for reading, with or without a running daemon.
    func openForReading() throws -> Store {
        try checkIsNamed()
        return try folder.openForReading()
    }

    /// Acquires the store's lock, as the daemon does.
    func lock() throws -> LockFile {
        try checkIsNamed()
        return try folder.lock()
    }
}

/// Verifies a backup.
///
/// Throws a failure if the directory is missing, unreadable or the directory of a store, or if the
/// backup is damaged.
func verifiedBackup(
    _ path: String, progress: (_ done: UInt64, _ total: UInt64) -> Void
) throws -> BackupManifest {
    try StoreFolder.checkAccess(path)
    return try readingBackup(path) { try StoreBackup.verify(path, progress: progress) }
}

/// Runs `body`, which reads a backup, and converts its errors into failures of the verb.
func readingBackup<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    let files = RealFileSystem()
    guard files.exists(path) else { throw CommandFailure.noDirectory(path) }
    guard files.isDirectory(path) else {
        throw CommandFailure("\(path) is not a directory; give the directory of a backup")
    }
    do {
        return try mapped(body)
    } catch let failure as CommandFailure {
        guard files.exists(path + "/store/data.mdb"), !files.exists(path + "/manifest.json") else {
            throw failure
        }
        throw CommandFailure(
            failure.message
                + "; this is the directory of a store, not a backup: verify it with `tandem verify -D "
                + "\(path)`, or back it up with `tandem backup`",
            code: failure.code)
    }
}

/// Runs `body` and converts its errors into failures of the verb.
func mapped<Result>(_ body: () throws -> Result) throws -> Result {
    do {
        return try body()
    } catch let error as CommandFailure {
        throw error
    } catch let error as TandemError {
        throw error
    } catch {
        throw CommandFailure("\(error)")
    }
}

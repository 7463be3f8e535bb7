import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The directory of a store and its journal.
struct StoreFolder {
    let path: String

    init(_ path: String) { self.path = path }

    /// The directory of the LMDB files.
    var store: String { path + "/store" }
    /// The directory of the segments.
    var journal: String { path + "/journal" }

    /// Throws a failure if the directory does not exist or this user may not read it.
    func checkExists() throws {
        try Self.checkAccess(path)
        guard RealFileSystem().exists(path) else { throw CommandFailure.noDirectory(path) }
    }

    /// Opens the store for reading, with or without a running daemon.
    func openForReading() throws -> Store {
        try checkExists()
        try Self.checkAccess(store)
        guard RealFileSystem().exists(store + "/data.mdb") else {
            throw CommandFailure(
                "there is no store in \(path); -D takes the directory of a store, and "
                    + "`tandem rebuild` builds one from a journal")
        }
        return try mapped { try Store.openForReading(path: store) }
    }

    /// Throws a failure with the exit code for "denied" if this user may not list a directory.
    ///
    /// Other errors are ignored, for example if the directory does not exist.
    static func checkAccess(_ path: String) throws {
        do {
            _ = try RealFileSystem().list(path)
        } catch let error where error.isDenied {
            throw CommandFailure(
                "\(error); run the command as the daemon's user or as root", code: 4)
        } catch {
            return
        }
    }

    /// Acquires the store's lock, as the daemon does.
    func lock() throws -> LockFile {
        try checkExists()
        do {
            return try LockFile(path + "/lock")
        } catch {
            guard error.isLocked else { throw CommandFailure("\(error)") }
            throw CommandFailure("\(error); stop the daemon first")
        }
    }
}

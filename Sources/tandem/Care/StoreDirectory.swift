import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// Which store is meant by a verb that reads or mends it without the daemon.
struct StoreDirectory: ParsableArguments {
    @Option(
        name: [.customShort("D"), .long],
        help: "The directory of the store (TANDEM_STORE); that of --name unless given.")
    var directory: String?

    @Option(help: "The name of the daemon (TANDEM_NAME); `default` unless given.")
    var name: String?

    /// The directory of store and journal.
    var path: String {
        if let directory { return directory }
        if let path = ThisProcess.environment("TANDEM_STORE"), !path.isEmpty { return path }
        let name = name ?? ThisProcess.environment("TANDEM_NAME") ?? "default"
        guard ThisProcess.effectiveUserID != 0, ThisProcess.environment("XDG_RUNTIME_DIR") != nil
        else { return "/var/lib/tandem/\(name)" }
        let home = ThisProcess.environment("HOME") ?? "/"
        let state = ThisProcess.environment("XDG_STATE_HOME") ?? home + "/.local/state"
        return "\(state)/tandem/\(name)"
    }

    /// The directory of LMDB's files.
    var store: String { path + "/store" }
    /// The directory of the segments.
    var journal: String { path + "/journal" }

    /// Opens the store for reading, beside a daemon or without one.
    func openForReading() throws -> Store {
        guard RealFileSystem().exists(store + "/data.mdb") else {
            throw CommandFailure(
                "there is no store in \(path); -D takes the directory of a store, and "
                    + "`tandem rebuild` makes one from a journal")
        }
        return try mapped { try Store.openForReading(path: store) }
    }

    /// Takes the store's lock, as the daemon does.
    func lock() throws -> LockFile {
        let files = RealFileSystem()
        guard files.exists(path) else { throw CommandFailure("there is no directory \(path)") }
        do {
            return try LockFile(path + "/lock")
        } catch {
            guard error.isLocked else { throw CommandFailure("\(error)") }
            throw CommandFailure("\(error); stop the daemon first")
        }
    }
}

/// Runs something, its errors turned into a line for people.
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

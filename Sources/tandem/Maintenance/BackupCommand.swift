import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem backup`: copies store and journal while the daemon continues to run.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy store and journal, with or without a running daemon.",
        discussion: """
            The command needs permission to read the store's files. Saves continue meanwhile. The copy is made under \
            a temporary name, and renamed after it is complete and verified.
            """)

    @OptionGroup var location: StoreDirectory

    @Argument(help: "The new directory; it must not exist yet.")
    var target: String

    func run() throws {
        let store = try location.openForReading()
        defer { store.close() }
        let journal = JournalFolder(location.journal)
        let progress = PhaseBars<StoreBackup.Phase>(\.label)
        defer { progress.end() }
        let manifest = try mapped {
            try StoreBackup.make(
                of: store, at: target.withoutTrailingSlashes, progress: progress.update
            ) {
                after, folder in
                progress.end()
                return try journal.copyTail(after: after, to: folder)
            }
        }
        progress.end()
        printLine(
            "backed up \(location.path) to \(target): store at position \(manifest.position), journal "
                + "to position \(manifest.last), \(manifest.bytes) bytes")
    }
}

extension StoreBackup.Phase {
    /// The label of the phase's progress bar.
    fileprivate var label: String {
        switch self {
        case .copying: "copy the store"
        case .checking: "check the copy"
        case .hashing: "hash the copy"
        case .reading: "hash all files"
        }
    }
}

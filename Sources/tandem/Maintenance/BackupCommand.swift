import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem backup`: copies store and journal while the daemon continues to run.
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copies store and journal, beside a running daemon or not.",
        discussion: """
            It reads the store's files itself, so it needs the right to, and holds nobody up. What it writes \
            has its name only when it is whole and was checked.
            """)

    @OptionGroup var place: StoreDirectory

    @Argument(help: "The directory to make; it must not exist yet.")
    var target: String

    func run() throws {
        let store = try place.openForReading()
        defer { store.close() }
        let journal = JournalFolder(place.journal)
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
            "backed up \(place.path) to \(target): store at position \(manifest.position), journal "
                + "to \(manifest.last), \(manifest.bytes) bytes")
    }
}

extension StoreBackup.Phase {
    /// The label of the phase's progress bar.
    fileprivate var label: String {
        switch self {
        case .copying: "copy the store"
        case .checking: "check the copy"
        case .hashing: "sum up the copy"
        case .reading: "sum up all files"
        }
    }
}

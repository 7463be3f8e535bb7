import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem restore`: creates a new store from a backup.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Brings a backup back, into an empty or absent directory.",
        discussion: """
            The epoch is raised: clients that stood at a position of the old store are told that their history \
            expired, and start again from what is there.
            """)

    @Argument(help: "The directory of the backup.")
    var backup: String

    @Option(
        name: [.customShort("D"), .customLong("directory"), .long],
        help: "The directory of the store to make.")
    var store: String

    func run() throws {
        var position = Position(log: LogID(high: 0, low: 0), epoch: 0, number: 0)
        let progress = ProgressBar("restore")
        try StoreFolder.checkAccess(backup)
        try readingBackup(backup) {
            _ = try StoreRestore.run(
                backup, to: store.withoutTrailingSlashes, progress: progress.update
            ) {
                folder, manifest in
                // The small segment starts the new epoch; the daemon uses its configured size for
                // later ones.
                let journal = try JournalFolder(folder).open(
                    appliedPosition: manifest.position, segmentBytes: 1 << 20)
                try journal.beginEpoch()
                position = Position(
                    log: manifest.identity.log, epoch: journal.identity.epoch,
                    number: journal.bounds.last)
                try journal.close()
            }
        }
        progress.end()
        printLine("restored \(backup) to \(store) at \(position)")
    }
}

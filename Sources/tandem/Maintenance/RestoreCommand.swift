import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem restore`: creates a new store from a backup.
struct RestoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore a backup into an empty or new directory.",
        discussion: """
            The restored store has a higher epoch. Clients that resume at a position of the old store receive the \
            error historyExpired, and start again from a snapshot.
            """)

    @Argument(help: "The directory of the backup.")
    var backup: String

    @Option(
        name: [.customShort("D"), .customLong("directory"), .long],
        help: "The directory of the new store.")
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
                // The first segment of the new epoch is small; later ones have the size in the
                // daemon's configuration.
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
        printLine("restored \(backup) to \(store) at position \(position)")
    }
}

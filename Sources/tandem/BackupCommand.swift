import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem backup`: a copy of store and journal while the daemon goes on.
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
        let manifest = try mapped {
            try StoreBackup.make(of: store, at: target) { after, folder in
                try journal.copyTail(after: after, to: folder)
            }
        }
        let bytes = manifest.files.reduce(0) { $0 + $1.bytes }
        printLine(
            "backed up \(place.path) to \(target): store at position \(manifest.position), journal "
                + "to \(manifest.last), \(bytes) bytes")
    }
}

/// `tandem restore`: a backup brought back as a store of its own.
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

    @Option(help: "The directory of the store to make.")
    var store: String

    func run() throws {
        var position = Position(log: LogID(high: 0, low: 0), epoch: 0, number: 0)
        try mapped {
            _ = try StoreRestore.run(backup, to: store) { folder, manifest in
                // A segment of the new epoch; the daemon makes its own in the size that it is told.
                let journal = try JournalFolder(folder).open(
                    appliedPosition: manifest.position, segmentBytes: 1 << 20)
                try journal.beginEpoch()
                position = Position(
                    log: manifest.identity.log, epoch: journal.identity.epoch,
                    number: journal.bounds.last)
                try journal.close()
            }
        }
        printLine("restored \(backup) to \(store) at \(position)")
    }
}

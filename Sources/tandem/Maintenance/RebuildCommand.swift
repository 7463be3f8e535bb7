import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem rebuild`: builds a new store from the journal.
struct RebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild", abstract: "Build the store from the journal.",
        discussion: """
            The daemon must be stopped. The new store is built next to the old one, checked, and then replaces it. \
            If the journal does not begin at position 1, give a backup (--from) that reaches at least to the position \
            before the journal's first.
            """)

    @OptionGroup var location: StoreDirectory

    @Option(name: .customLong("from"), help: "The directory of a backup to start from.")
    var backup: String?

    func run() throws {
        let lock = try location.lock()
        defer { withExtendedLifetime(lock) {} }
        let consumers = StoreRebuild(path: location.store).oldConsumers()
        let progress = ProgressBar("rebuild")
        let report = try mapped { try rebuild(progress) }
        progress.end()
        let rows = report.keysRead[.rows, default: 0]
        printLine(
            "rebuilt \(location.store) at position \(report.position): \(Quantity.count(rows, "row")), no faults"
        )
        reportConsumers(consumers)
    }

    /// Reports which consumers were kept; the journal does not contain consumers.
    private func reportConsumers(_ consumers: StoreRebuild.OldConsumers) {
        if !consumers.copied.isEmpty {
            printLine("kept consumers: " + consumers.copied.map(\.name).joined(separator: ", "))
        }
        if !consumers.lost.isEmpty {
            printLine(
                "lost consumers, register them again: " + consumers.lost.joined(separator: ", "))
        }
        if let failure = consumers.failure {
            printLine(
                "the old store cannot be read (\(failure)): its consumers are lost, and the journal may lack "
                    + "transactions that the store had applied")
        }
    }

    private func rebuild(_ progress: ProgressBar) throws -> StoreReport {
        let journal = try JournalFolder(location.journal).open(appliedPosition: applied())
        defer { try? journal.close() }
        let bounds = journal.bounds
        let manifest = try backup.map { try StoreBackup.verify($0) }
        if let manifest { try check(manifest, against: journal) }
        guard bounds.first <= (manifest?.position ?? 0) + 1 else {
            throw CommandFailure(
                "the journal in \(location.journal) begins at position \(bounds.first), not at 1; give "
                    + "a backup of position \(bounds.first - 1) or later with --from, or restore one"
            )
        }
        let identity = journal.identity
        return try StoreRebuild(path: location.store).run(
            identity: StoreIdentity(
                log: LogID(high: identity.high, low: identity.low), epoch: identity.epoch),
            through: bounds.last, snapshot: backup.map { $0 + "/store/data.mdb" }
        ) { after in
            guard after < bounds.last else { return { nil } }
            let cursor = try journal.read(from: after + 1)
            return {
                try cursor.next().map { entry in
                    progress.update(entry.position, of: bounds.last)
                    return try EncodedTransaction(bytes: entry.payload)
                }
            }
        }
    }

    /// Returns the position that the old store has applied, or nil if it can't be read.
    ///
    /// A journal that ends before this position has lost transactions.
    private func applied() -> UInt64? {
        guard RealFileSystem().exists(location.store + "/data.mdb"),
            let old = try? Store.openForReading(path: location.store)
        else { return nil }
        defer { old.close() }
        return old.appliedPosition
    }

    private func check(_ manifest: BackupManifest, against journal: Journal) throws {
        let (identity, path) = (journal.identity, backup ?? "")
        guard manifest.identity.log == LogID(high: identity.high, low: identity.low) else {
            throw CommandFailure(
                "the backup \(path) belongs to a different log than the journal in \(location.journal)"
            )
        }
        guard manifest.identity.epoch == identity.epoch else {
            throw CommandFailure(
                "the backup \(path) has epoch \(manifest.identity.epoch), but the journal has epoch "
                    + "\(identity.epoch), so their histories may differ; use a later backup")
        }
        guard manifest.position <= journal.bounds.last else {
            throw CommandFailure(
                "the backup \(path) is at position \(manifest.position), but the journal ends at "
                    + "\(journal.bounds.last): transactions are missing; restore the backup")
        }
    }
}

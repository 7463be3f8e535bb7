import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The identity and position of a store, to be compared with its journal.
struct StoreSummary {
    var path: String
    var identity: StoreIdentity
    var position: UInt64

    /// Reads a store; nil if there is none.
    ///
    /// If `isPrivate`, no other process uses the store, and no lock file is needed.
    init?(_ folder: StoreFolder, isPrivate: Bool = false) throws {
        guard RealFileSystem().exists(folder.store + "/data.mdb") else { return nil }
        let store =
            try isPrivate
            ? mapped { try Store.openForReading(path: folder.store, isPrivate: true) }
            : folder.openForReading()
        defer { store.close() }
        path = folder.store + "/data.mdb"
        identity = store.identity
        position = store.appliedPosition
    }

    /// Returns the inconsistencies between the store and a journal, which was read after the store.
    func problems(_ journal: JournalVerification) -> [VerifyProblem] {
        func problem(_ message: String) -> VerifyProblem {
            VerifyProblem(kind: .store, path: path, message: message)
        }
        var found: [VerifyProblem] = []
        if let log = journal.identity {
            if log.high != identity.log.high || log.low != identity.log.low {
                found.append(problem("the store belongs to a different log than the journal"))
            } else if log.epoch < identity.epoch {
                found.append(
                    problem(
                        "the store has epoch \(identity.epoch), but the journal has epoch \(log.epoch)"
                    ))
            }
        }
        if position >= journal.next {
            found.append(
                problem(
                    "the store is at position \(position), but the journal ends at "
                        + "\(journal.next - 1): transactions are missing"))
        }
        if position + 1 < journal.first {
            found.append(
                problem(
                    "the store is at position \(position), but the journal begins at "
                        + "\(journal.first): the transactions between them are missing"))
        }
        return found
    }
}

/// Builds a store from the journal in a scratch directory, and compares the result with a copy of
/// the existing store.
struct DeepVerification {
    let folder: StoreFolder
    /// The directory of a backup to start from; nil to replay the journal from position 1.
    let backup: String?
    /// The directory of the two temporary stores, each about as large as the store; removed at the
    /// end.
    let scratch: String
    private let files = RealFileSystem()

    init(_ folder: StoreFolder, backup: String?, scratch: String) {
        self.folder = folder
        self.backup = backup
        self.scratch = scratch
    }

    /// Returns the differences in the order of the dump, and the position of the comparison.
    ///
    /// Throws ``CommandFailure`` if the journal does not reach back far enough. Cost: one replay of
    /// the whole journal.
    func run(_ progress: ProgressBar) throws -> (position: UInt64, problems: [VerifyProblem]) {
        try mapped {
            guard !files.exists(scratch) else {
                throw CommandFailure("\(scratch) exists; choose a new directory for --scratch")
            }
            defer { try? files.removeTree(scratch) }
            try files.createDirectory(scratch + "/old", mode: 0o700)
            try copy()
            let old = try Store.openForReading(path: scratch + "/old", isPrivate: true)
            defer { old.close() }
            try rebuild(like: old, progress)
            let new = try Store.openForReading(path: scratch + "/new", isPrivate: true)
            defer { new.close() }
            let path = folder.store + "/data.mdb"
            let faults = try faults(of: old, path)
            guard try old.stateHash() != new.stateHash() else {
                return (old.appliedPosition, faults)
            }
            let lines = try DumpDifference(scratch + "/dump", files).compare(old, new)
            return (
                old.appliedPosition,
                faults + lines.map { VerifyProblem(kind: .difference, path: path, message: $0) }
            )
        }
    }

    /// Returns the inconsistencies within the store, as `check` finds them.
    ///
    /// The comparison with a replay does not find a derived value or count that is also wrong in
    /// the journal.
    private func faults(of store: Store, _ path: String) throws -> [VerifyProblem] {
        let bar = ProgressBar("check the store")
        defer { bar.end() }
        return try store.check(progress: bar.update).findings.map {
            VerifyProblem(kind: .store, path: path, message: "\($0)")
        }
    }

    /// Copies the last checkpoint, so that the daemon is not blocked during the comparison.
    private func copy() throws {
        let store = try folder.openForReading()
        defer { store.close() }
        try store.copyCheckpoint(to: scratch + "/old/data.mdb")
    }

    private func rebuild(like old: Store, _ progress: ProgressBar) throws {
        let manifest = try backup.map { try StoreBackup.verify($0) }
        let start = manifest?.position ?? 0
        let (journal, last) = (folder.journal, old.appliedPosition)
        let first = try JournalFolder(journal).segments().first?.first ?? 1
        guard first <= start + 1 else {
            throw CommandFailure(
                "the journal in \(journal) begins at position \(first), not at 1; give a backup "
                    + "of position \(first - 1) or later with --from")
        }
        guard start <= last else {
            throw CommandFailure(
                "the backup \(backup ?? "") is at position \(start), after the store's position \(last); use an "
                    + "older backup")
        }
        if let manifest, manifest.identity.log != old.identity.log {
            throw CommandFailure(
                "the backup \(backup ?? "") belongs to a different log than the store")
        }
        _ = try StoreRebuild(path: scratch + "/new").run(
            identity: old.identity, through: last, snapshot: backup.map { $0 + "/store/data.mdb" }
        ) { after in
            let reader = JournalReader(
                directory: journal, fileSystem: files, from: after + 1)
            return {
                switch try reader.next() {
                case .entry(let entry):
                    progress.update(entry.position - start, of: last - start)
                    return try EncodedTransaction(bytes: entry.payload)
                case .gap(let gap):
                    throw CommandFailure.damaged(gap, JournalFolder.salvage)
                case nil: return nil
                }
            }
        }
    }
}

import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem salvage`: a store made of what a damaged one and its journal still give.
struct SalvageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Makes a store of what a damaged directory still gives.",
        discussion: """
            It takes the store, if that can be read, or else begins with nothing, and applies the journal up to the first \
            transaction that is missing or damaged. The report says what was used and which positions are lost. The \
            directory itself is not changed. The new store has a new epoch, as after a restore, and no journal of \
            what was before. Restore a backup instead if that is newer. Exits with 1 if positions are lost.
            """)

    @Argument(help: "The damaged directory of store and journal.")
    var directory: String

    @Option(help: "The directory to make; it must not exist yet.")
    var to: String

    func run() throws {
        let salvage = Salvage(StoreFolder(directory), to: to)
        let report = try mapped { try salvage.run() }
        report.lines.forEach(printLine)
        if report.isComplete { return }
        throw CommandFailure("not everything could be salvaged; see the report above")
    }
}

/// The result of a salvage: its report, and whether anything is lost.
struct SalvageReport {
    var lines: [String] = []
    /// Whether the store has every transaction that the directory is known to have had.
    var isComplete = true

    mutating func lost(_ line: String) {
        lines.append(line)
        isComplete = false
    }
}

/// Makes a store under another name and renames it when it is whole.
struct Salvage {
    private let folder: StoreFolder
    private let target: String
    private var draft: String { target + ".salvaging" }
    private let files = RealFileSystem()

    init(_ folder: StoreFolder, to target: String) {
        self.folder = folder
        self.target = target
    }

    func run() throws -> SalvageReport {
        for path in [target, draft] where files.exists(path) {
            throw CommandFailure("\(path) exists; --to takes a name of its own")
        }
        guard files.isDirectory(target.parentDirectory) else {
            throw CommandFailure("there is no directory \(target.parentDirectory)")
        }
        // Beside a daemon the store would be a moving target.
        let lock = try folder.lock()
        defer { withExtendedLifetime(lock) {} }
        do {
            return try make()
        } catch {
            try? files.removeTree(draft)
            throw error
        }
    }

    private func make() throws -> SalvageReport {
        var report = SalvageReport()
        try files.createDirectory(draft, mode: 0o700)
        let snapshot = copyStore(&report)
        let found = try readJournal(after: snapshot?.position ?? 0, &report)
        guard let identity = identity(snapshot?.identity, found.identity), found.last > 0 else {
            throw CommandFailure(
                "nothing can be salvaged: " + report.lines.joined(separator: "; "))
        }
        let epoch = StoreIdentity(log: identity.log, epoch: identity.epoch + 1)
        let checked = try StoreRebuild(path: draft + "/store").run(
            identity: epoch, through: found.last, snapshot: snapshot?.path, feed: feed)
        if let path = snapshot?.path { try files.removeTree(path.parentDirectory) }
        try makeJournal(epoch, after: found.last)
        try files.rename(draft, to: target)
        try files.syncDirectory(target.parentDirectory)
        let rows = checked.walked[.rows, default: 0]
        report.lines.append("salvaged \(target) at position \(found.last): \(rows) rows")
        return report
    }

    /// A copy of the store's last checkpoint, if it can be read.
    private func copyStore(
        _ report: inout SalvageReport
    ) -> (path: String, position: UInt64, identity: StoreIdentity)? {
        let copy = draft + "/copy"
        do {
            guard files.exists(folder.store + "/data.mdb") else {
                throw CommandFailure("there is no \(folder.store)/data.mdb")
            }
            try files.createDirectory(copy, mode: 0o700)
            let store = try Store.openForReading(path: folder.store, isPrivate: true)
            defer { store.close() }
            try store.copyCheckpoint(to: copy + "/data.mdb")
            let made = try Store.openForReading(path: copy, isPrivate: true)
            defer { made.close() }
            let check = try made.check()
            guard check.isClean else {
                throw CommandFailure(
                    "the store has \(check.found) faults, the first: \(check.findings[0])")
            }
            report.lines.append("store: read at position \(made.appliedPosition)")
            return (copy + "/data.mdb", made.appliedPosition, made.identity)
        } catch {
            let reason = (error as? CommandFailure)?.message ?? "\(error)"
            report.lines.append("store: not used: \(reason)")
            try? files.removeTree(copy)
            return nil
        }
    }

    /// The last position that follows the store without a gap, and what the journal says of the log.
    private func readJournal(
        after position: UInt64, _ report: inout SalvageReport
    ) throws -> (last: UInt64, identity: LogIdentity?) {
        var last = position
        var identity: LogIdentity?
        let segments = try JournalFolder(folder.journal).segments()
        guard let first = segments.first?.first else {
            report.lost("journal: there is none in \(folder.journal)")
            return (last, nil)
        }
        guard first <= position + 1 else {
            report.lost(
                "journal: not used: it begins at position \(first), and positions "
                    + "\(position + 1) to \(first - 1) are missing")
            return (last, nil)
        }
        let reader = JournalReader(
            directory: folder.journal, fileSystem: files, from: position + 1)
        var (unused, isContinuous): (UInt64, Bool) = (0, true)
        while let item = try reader.next() {
            identity = reader.identity ?? identity
            switch item {
            case .gap(let gap):
                isContinuous = false
                report.lost("journal: \(gap.path) offset \(gap.offset): \(gap.reason)")
            case .entry(let entry):
                guard isContinuous, Self.isReadable(entry) else {
                    if isContinuous {
                        report.lost("journal: transaction \(entry.position) can't be read")
                    }
                    isContinuous = false
                    unused += 1
                    continue
                }
                last = entry.position
            }
        }
        identity = identity ?? reader.identity
        if let following = reader.following, following <= position {
            report.lost("journal: it ends at position \(following - 1), before the store")
        }
        report.lines.append(
            last == position
                ? "journal: nothing to apply"
                : "journal: applied positions \(position + 1) to \(last)")
        if unused > 0 {
            report.lost(
                "lost: \(unused) transactions after the damage, which can't be applied without it")
        }
        return (last, identity)
    }

    private static func isReadable(_ entry: Entry) -> Bool {
        (try? EncodedTransaction(bytes: entry.payload).position) == entry.position
    }

    private func identity(
        _ store: StoreIdentity?, _ journal: LogIdentity?
    ) -> StoreIdentity? {
        guard let journal else { return store }
        let log = store?.log ?? LogID(high: journal.high, low: journal.low)
        return StoreIdentity(log: log, epoch: max(store?.epoch ?? 0, journal.epoch))
    }

    private func feed(_ after: UInt64) throws -> StoreRebuild.Feed {
        let reader = JournalReader(directory: folder.journal, fileSystem: files, from: after + 1)
        return {
            guard case .entry(let entry)? = try reader.next() else { return nil }
            return try EncodedTransaction(bytes: entry.payload)
        }
    }

    /// Creates an empty journal of the new epoch that begins after the store's position.
    private func makeJournal(_ identity: StoreIdentity, after last: UInt64) throws {
        var options = JournalOptions()
        options.segmentBytes = 1 << 20
        options.firstPositionIfNew = last + 1
        let journal = try Journal.open(
            directory: draft + "/journal", fileSystem: files, options: options,
            identityIfNew: LogIdentity(
                high: identity.log.high, low: identity.log.low, epoch: identity.epoch),
            appliedPosition: last
        ).journal
        try journal.close()
    }
}

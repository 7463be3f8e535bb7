import ArgumentParser
import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// `tandem salvage`: creates a store from the readable parts of a damaged store and its journal.
struct SalvageCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage",
        abstract: "Create a store from the readable data of a damaged one.",
        discussion: """
            The command starts with the store if it is readable, otherwise with an empty one. It applies the journal \
            up to the first missing or damaged transaction. Indexes, unique keys, links and counts that contradict \
            the rows are rebuilt from the rows. Unreadable rows and long values are read from the journal if \
            possible. The report lists the sources, lost positions, and lost objects and values by entity and count. \
            The damaged directory is not changed. The new store has a new epoch and no earlier journal. If a backup \
            is newer than the salvaged store, restore the backup instead. Exits with 1 if anything is lost.
            """)

    @Argument(help: "The damaged directory of store and journal.")
    var directory: String

    @Option(help: "The new directory; it must not exist yet.")
    var to: String

    @Option(
        help: ArgumentHelp("Run one step of copying the store to --to.", visibility: .private))
    var step: SalvagedCopy.Step?

    @Option(
        help: ArgumentHelp(
            "The table that a step copies, or that lacks keys in the repair.", visibility: .private)
    )
    var table: String?

    func run() throws {
        if let step {
            let table = table.flatMap(StoreTable.init) ?? .meta
            return try SalvagedCopy(of: StoreFolder(directory), in: to).run(step, table)
        }
        let salvage = try Salvage(StoreFolder(directory), to: to)
        let report = try mapped { try salvage.run() }
        report.lines.forEach(printLine)
        if report.isComplete { return }
        throw CommandFailure("not everything could be salvaged; see the report above")
    }
}

/// The lines of a salvage report, and whether the salvage was complete.
struct SalvageReport {
    var lines: [String] = []
    /// Whether no transaction, object or value was lost.
    var isComplete = true

    mutating func lost(_ line: String) {
        lines.append(line)
        isComplete = false
    }
}

/// Makes a store under a temporary name and renames it when it is complete.
struct Salvage {
    private let folder: StoreFolder
    private let target: String
    private var draft: String { target + ".salvaging" }
    private let files = RealFileSystem()

    /// Checks both directories; throws a failure if the damaged directory or the parent of the
    /// target is missing, or if the target is inside the damaged directory.
    init(_ folder: StoreFolder, to target: String) throws {
        self.folder = folder
        self.target = target.withoutTrailingSlashes
        guard files.isDirectory(self.target.parentDirectory) else {
            throw CommandFailure.noDirectory(self.target.parentDirectory)
        }
        guard files.isDirectory(folder.path) else {
            throw CommandFailure.noDirectory(folder.path)
        }
        let isStore = files.exists(folder.store + "/data.mdb") || files.isDirectory(folder.journal)
        guard isStore else { return }
        let (parent, source) = try mapped {
            (try files.realPath(self.target.parentDirectory), try files.realPath(folder.path))
        }
        guard !(parent + "/").hasPrefix(source == "/" ? source : source + "/") else {
            throw CommandFailure(
                "\(self.target) is inside \(folder.path); choose a directory next to it for --to",
                code: 2)
        }
    }

    func run() throws -> SalvageReport {
        guard !files.exists(target) else {
            throw CommandFailure("\(target) exists; choose a new directory for --to")
        }
        try mapped {
            try StoreBackup.removeLeftover(
                draft, ["copy", "journal", "store", "store.rebuilding"], files)
        }
        // The lock keeps a daemon from changing the store during the salvage.
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
        var snapshot = try copyStore(&report)
        if let made = snapshot, !made.losses.isEmpty {
            if try readsWithoutStore(made.position) {
                report.lines.append(
                    "store: not used, because parts of it are lost and the journal is complete")
                snapshot = nil
            } else {
                made.losses.forEach { report.lost($0) }
            }
        }
        if let snapshot { try reportLostHistory(through: snapshot.position, &report) }
        let found = try readJournal(after: snapshot?.position ?? 0, &report)
        guard let identity = identity(snapshot?.identity, found.identity), found.last > 0 else {
            throw CommandFailure(
                "nothing can be salvaged: " + report.lines.joined(separator: "; "))
        }
        let epoch = StoreIdentity(log: identity.log, epoch: identity.epoch + 1)
        var options = StoreOptions()
        options.acceptsLosses = snapshot?.losses.isEmpty == false
        let checked = try StoreRebuild(path: draft + "/store", options: options).run(
            identity: epoch, through: found.last, snapshot: snapshot?.path, feed: feed,
            beforeCheck: { store in
                guard options.acceptsLosses else { return }
                try store.salvage().lines.forEach {
                    report.lost("lost because of the journal's changes: \($0)")
                }
            })
        if let path = snapshot?.path { try files.removeTree(path.parentDirectory) }
        try makeJournal(epoch, after: found.last)
        try files.rename(draft, to: target)
        try files.syncDirectory(target.parentDirectory)
        let rows = checked.keysRead[.rows, default: 0]
        report.lines.append(
            "salvaged \(target) at position \(found.last): \(Quantity.count(rows, "row"))")
        return report
    }

    /// Copies the store's last checkpoint; returns nil if it can't be read.
    ///
    /// Throws a failure if there is no room for the copy.
    private func copyStore(
        _ report: inout SalvageReport
    ) throws -> (path: String, position: UInt64, identity: StoreIdentity, losses: [String])? {
        let copy = SalvagedCopy(of: folder, in: draft + "/copy")
        do {
            let lines = try copy.makeInChildren()
            let made = try Store.openForReading(path: copy.path, isPrivate: true)
            defer { made.close() }
            let isLoss = { (line: String) in line.hasPrefix("lost: ") }
            report.lines += lines.filter { !isLoss($0) }
            report.lines.append("store: read at position \(made.appliedPosition)")
            return (
                copy.path + "/data.mdb", made.appliedPosition, made.identity, lines.filter(isLoss)
            )
        } catch let shortage as SalvagedCopy.Shortage {
            throw CommandFailure(shortage.message)
        } catch {
            let reason = (error as? CommandFailure)?.message ?? "\(error)"
            report.lines.append("store: not used: \(SalvagedCopy.withoutRemedy(reason))")
            try? files.removeTree(copy.path)
            return nil
        }
    }

    /// Returns whether the journal alone contains every transaction up to the store's position.
    private func readsWithoutStore(_ position: UInt64) throws -> Bool {
        var report = SalvageReport()
        return try readJournal(after: 0, &report).last >= position
    }

    /// Reports the gaps in the journal that lose no data, because the store has applied the missing
    /// transactions.
    private func reportLostHistory(through position: UInt64, _ report: inout SalvageReport) throws {
        let journal = JournalFolder(folder.journal)
        guard let first = try journal.segments().first?.first else { return }
        let outcome = "the store has these changes, but their history is missing"
        if let missing = journal.missing(before: min(first, position + 1))?.positions {
            report.lines.append(
                "journal: positions \(missing.lowerBound) to \(missing.upperBound) are missing; "
                    + outcome)
        }
        let reader = JournalReader(directory: folder.journal, fileSystem: files, from: first)
        while reader.position <= position, let item = try reader.next() {
            guard case .gap(let gap) = item, gap.firstMissing <= position else { continue }
            report.lines.append("journal: \(gap); \(outcome)")
        }
    }

    /// Returns the last position up to which the journal continues the store without a gap, and the
    /// journal's identity; reports gaps and lost positions.
    private func readJournal(
        after position: UInt64, _ report: inout SalvageReport
    ) throws -> (last: UInt64, identity: LogIdentity?) {
        var last = position
        var identity: LogIdentity?
        let segments = try JournalFolder(folder.journal).segments()
        guard let first = segments.first?.first else {
            report.lost("journal: not used: there is no journal in \(folder.journal)")
            return (last, nil)
        }
        let reader = JournalReader(
            directory: folder.journal, fileSystem: files, from: max(first, position + 1))
        var (isContinuous, end) = (first <= position + 1, first - 1)
        if !isContinuous {
            report.lost("journal: not used, because it begins at position \(first)")
        }
        while let item = try reader.next() {
            identity = reader.identity ?? identity
            switch item {
            case .gap(let gap):
                isContinuous = false
                end = max(end, gap.next.map { $0 - 1 } ?? gap.firstMissing)
                report.lost("journal: \(gap)")
            case .entry(let entry):
                end = max(end, entry.position)
                guard isContinuous, Self.isReadable(entry) else {
                    if isContinuous {
                        report.lost("journal: transaction \(entry.position) cannot be read")
                    }
                    isContinuous = false
                    continue
                }
                last = entry.position
            }
        }
        identity = identity ?? reader.identity
        if let following = reader.following, following <= position {
            report.lost("journal: ends at position \(following - 1), before the store's position")
        }
        report.lines.append(
            last == position
                ? "journal: nothing to apply"
                : "journal: applied positions \(position + 1) to \(last)")
        if end > last {
            report.lost(
                end == last + 1
                    ? "lost: position \(end)" : "lost: positions \(last + 1) to \(end)")
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

/// Makes a copy of a store's last checkpoint, and repairs everything in it that can be derived from
/// rows.
struct SalvagedCopy {
    private let folder: StoreFolder
    /// The directory of the copy.
    let path: String

    init(of folder: StoreFolder, in path: String) {
        self.folder = folder
        self.path = path
    }

    /// A step of making the copy.
    ///
    /// Each step runs in its own process, because a damaged file may kill it with SIGBUS or
    /// SIGSEGV.
    enum Step: String, ExpressibleByArgument {
        /// Copies all tables.
        case whole
        /// Copies one table from its beginning, up to the first page that can't be read.
        case table
        /// Copies one table backwards from its end, until it meets a key that was already copied.
        case tail
        /// Repairs the copy.
        case repair
    }

    /// A lack of disk or address space for the copy, which says nothing about the store.
    struct Shortage: Error {
        let message: String
        /// The exit code of a step that ends with a shortage.
        fileprivate static let code: Int32 = 3
    }

    /// Makes the copy and returns lines for the report; a line about a loss begins with "lost: ".
    ///
    /// Throws a failure with the reason if the store can't be used, or a ``Shortage``.
    func makeInChildren() throws -> [String] {
        try RealFileSystem().createDirectory(path, mode: 0o700)
        var lines: [String]
        do {
            lines = try runInChild(.whole)
        } catch let failure as CommandFailure {
            guard let copied = try copyTables() else { throw failure }
            let reason = Self.withoutRemedy(failure.message)
            lines = ["store: copied table by table: \(reason)"] + copied
        }
        let missesRows = lines.contains { $0.hasPrefix(Self.lostKeys(of: .rows)) }
        return try lines + runInChild(.repair, missesRows ? .rows : nil)
    }

    /// The tables that can be derived from other tables, so that a loss of keys loses no data.
    private static let derived: Set<StoreTable> = [
        .indexes, .unique, .blobUses, .unusedBlobs, .saveOrder, .unchanged,
    ]

    /// Copies the readable part of each table and returns lines for the report.
    ///
    /// Returns nil if the store's identity, position or model can't be read.
    private func copyTables() throws -> [String]? {
        guard RealFileSystem().exists(folder.store + "/data.mdb") else { return nil }
        try RealFileSystem().removeTree(path)
        try RealFileSystem().createDirectory(path, mode: 0o700)
        var lines: [String] = []
        for table in [StoreTable.meta] + StoreTable.allCases.filter({ $0 != .meta }) {
            do {
                lines += try runInChild(.table, table)
            } catch let failure as CommandFailure {
                if table == .meta { return nil }
                do {
                    lines += try runInChild(.tail, table)
                } catch is CommandFailure {}
                if !Self.derived.contains(table) {
                    lines.append("\(Self.lostKeys(of: table)): \(failure.message)")
                }
            }
        }
        return lines
    }

    /// Runs a step in a child process, and returns the lines that it printed.
    private func runInChild(_ step: Step, _ table: StoreTable? = nil) throws -> [String] {
        let child = try ChildProcess.start(
            "/proc/self/exe",
            ["salvage", folder.path, "--to", path, "--step", step.rawValue]
                + (table.map { ["--table", $0.rawValue] } ?? []), output: .pipe)
        var bytes: [UInt8] = []
        while case let more = try child.read(count: 4_096), !more.isEmpty { bytes += more }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        switch child.wait() {
        case .exited(0): return lines
        case .exited(Shortage.code): throw Shortage(message: lines.last ?? "")
        case .exited: throw CommandFailure(lines.last ?? "the copying process ended early")
        case .signalled(let signal):
            throw CommandFailure(
                "the process that reads \(folder.store)/data.mdb was ended by signal \(signal)")
        }
    }

    /// Runs a step and prints lines for the report.
    ///
    /// If the step fails, its last line is the reason, and the exit code is 1.
    func run(_ step: Step, _ table: StoreTable) throws {
        let data = folder.store + "/data.mdb"
        CrashReports.disable()
        BusErrors.end(
            with: 1, saying: "\(data) is truncated, or its disk cannot be read (SIGBUS)",
            descriptor: StandardStream.output.descriptor)
        do {
            guard RealFileSystem().exists(data) else {
                throw CommandFailure("there is no file \(data)")
            }
            switch step {
            case .whole: for table in StoreTable.allCases { try copy(table, .large) }
            case .table: try copy(table, .small)
            case .tail: try copy(table, .small, backwards: true)
            case .repair: try repair(missesRows: table == .rows)
            }
        } catch let error as StoreError where error.isShortage {
            printLine(error.message)
            throw ExitCode(Shortage.code)
        } catch {
            printLine((error as? CommandFailure)?.message ?? "\(error)")
            throw ExitCode(1)
        }
    }

    /// Copies all readable keys of a table, and reports those that were left out.
    private func copy(
        _ table: StoreTable, _ batch: ReadableCopy.Batch, backwards: Bool = false
    ) throws {
        let copy = ReadableCopy(from: folder.store, to: path, batch: batch)
        let leftOut = try copy.copy(table, backwards: backwards)
        guard leftOut > 0, !Self.derived.contains(table) else { return }
        printLine(
            "\(Self.lostKeys(of: table)): \(Quantity.count(leftOut, "key")) damaged or used twice")
    }

    /// The beginning of a line about lost keys of a table.
    private static func lostKeys(of table: StoreTable) -> String {
        "lost: keys of the table \(table.rawValue)"
    }

    private func repair(missesRows: Bool) throws {
        let losses = try salvage(missesRows: missesRows)
        if losses.repaired > 0 {
            printLine("store: repaired \(Quantity.count(losses.repaired, "fault")) from its rows")
        }
        losses.recoveredLines.forEach { printLine("store: recovered from the journal: \($0)") }
        losses.lines.forEach { printLine("lost: \($0)") }
    }

    /// Repairs everything derived from rows, recovers rows and contents of long values from the
    /// journal, and removes other damage.
    private func salvage(missesRows: Bool) throws -> StoreLosses {
        let copy = try Store.open(
            path: path, newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 0))
        defer { copy.close() }
        let position = copy.appliedPosition
        return try copy.salvage(missesRows: missesRows) { objects, contents in
            try parts(of: objects, contents, through: position)
        }
    }

    /// Reads each object's last row, and the contents of long values, from the journal up to a
    /// position.
    private func parts(
        of objects: Set<ObjectReference>, _ contents: Set<[UInt8]>, through last: UInt64
    ) throws -> JournalledParts {
        var parts = JournalledParts()
        let reader = JournalReader(
            directory: folder.journal, fileSystem: RealFileSystem(),
            from: try JournalFolder(folder.journal).segments().first?.first ?? 1)
        while reader.position <= last, let item = try reader.next() {
            guard case .entry(let entry) = item, entry.position <= last,
                let transaction = try? EncodedTransaction(bytes: entry.payload).decoded()
            else {
                // A row from before a gap may be older than the lost row.
                parts.addGap()
                continue
            }
            for change in transaction.changes where objects.contains(change.object) {
                if change.kind == .delete { parts.rows[change.object] = nil }
                guard let row = change.row else { continue }
                parts.rows[change.object] = JournalledParts.LastRow(row, at: entry.position)
            }
            for blob in transaction.blobs where contents.contains(blob.reference.hash) {
                parts.contents[blob.reference.hash] = blob.content
            }
        }
        // The journal ends before the store's position.
        if reader.position <= last { parts.addGap() }
        return parts
    }

    /// Returns a message without the advice to rebuild the store, which needs a journal.
    static func withoutRemedy(_ message: String) -> String {
        guard message.contains("`tandem rebuild`"), let end = message.firstRange(of: "; ") else {
            return message
        }
        return String(message[..<end.lowerBound])
    }
}

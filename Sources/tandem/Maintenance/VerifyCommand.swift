import ArgumentParser
import Tandem
import TandemIO
import TandemStore

/// `tandem verify`: checks the bytes of the journal, and the store against the journal.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verify the whole journal, and the store's position in it.",
        discussion: """
            Verifies the checksums, positions, epochs and indexes of all segments, and that the store's position \
            fits the journal. --deep also builds the indexes and the store from the journal, compares them with the \
            existing ones, and checks the store as `tandem check` does. Works with or without a running daemon, and \
            changes nothing. A backup is also verified against its manifest. Exits with 1 if there is a problem.
            """)

    @OptionGroup var location: StoreDirectory

    @Argument(help: ArgumentHelp("A backup to verify in place of a store.", valueName: "backup"))
    var target: String?

    @Flag(help: "Also compare the store with a replay of the journal; takes as long as a rebuild.")
    var deep = false

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp(
            "With --deep: a backup to start from if the journal does not begin at 1.",
            valueName: "backup"))
    var backup: String?

    @Option(
        help: ArgumentHelp(
            "With --deep: a new directory for two copies of the store; in TMPDIR by default.",
            valueName: "dir"))
    var scratch: String?

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func validate() throws {
        if !deep, backup != nil || scratch != nil {
            throw ValidationError("--from and --scratch need --deep")
        }
        guard target != nil else { return }
        if deep || location.directory != nil || location.name != nil {
            throw ValidationError("a backup cannot be combined with -D, --name or --deep")
        }
    }

    func run() throws {
        let progress = ProgressBar("verify")
        defer { progress.end() }
        let manifest = try target.map { path in
            try verifiedBackup(path, progress: progress.update)
        }
        if target == nil { try location.checkIsNamed() }
        let folder = target.map(StoreFolder.init) ?? location.folder
        try folder.checkExists()
        // The store is read first, so that the journal already contains all transactions that the
        // store has applied.
        let store = try StoreSummary(folder, isPrivate: target != nil)
        let journal = JournalVerification(JournalFolder(folder.journal))
        try journal.run(progress)
        progress.end()
        var report = VerifyReport(journal, store, folder)
        if let manifest { report.add(manifest.problems(journal, store, folder)) }
        if deep, report.problems.isEmpty, store != nil {
            let compared = try DeepVerification(folder, backup: backup, scratch: scratchFolder)
                .run(progress)
            report.comparedAt = compared.position
            report.add(compared.problems)
        }
        // In a damaged journal, checking the indexes would only repeat the same problems.
        if journal.found == 0 {
            report.add(
                try IndexVerification(folder: JournalFolder(folder.journal)).problems(isDeep: deep))
        }
        progress.end()
        try show(report)
    }

    private var scratchFolder: String {
        let parent = ThisProcess.environment("TMPDIR") ?? "/var/tmp"
        return scratch ?? "\(parent)/tandem-verify-\(ThisProcess.processID)"
    }

    private func show(_ report: VerifyReport) throws {
        if output == .json {
            report.problems.forEach { printLine($0.json.text) }
            printLine(report.json.text)
        } else {
            report.problems.forEach { printLine($0.line) }
            report.lines.forEach(printLine)
        }
        guard report.found > 0 else { return }
        throw CommandFailure(report.summary + (deep && report.comparedAt == nil ? report.hint : ""))
    }
}

/// The result of a verification.
struct VerifyReport {
    private let journal: JournalVerification
    private let path: String
    private let store: StoreSummary?
    private(set) var problems: [VerifyProblem]
    private(set) var found: Int
    /// The position up to which store and journal were compared; nil if they were not.
    var comparedAt: UInt64?

    init(_ journal: JournalVerification, _ store: StoreSummary?, _ folder: StoreFolder) {
        self.journal = journal
        self.store = store
        path = folder.path
        let missing = VerifyProblem(
            kind: .store, path: folder.store + "/data.mdb",
            message: "there is no store; `tandem rebuild` builds it from the journal")
        let ofStore = store.map { $0.problems(journal) } ?? [missing]
        problems = journal.problems + ofStore
        found = journal.found + ofStore.count
    }

    mutating func add(_ more: [VerifyProblem]) {
        problems += more
        found += more.count
    }

    var summary: String { "\(found) problem\(found == 1 ? "" : "s") in \(path)" }

    /// The suffix of the summary if store and journal were not compared.
    var hint: String { "; store and journal were not compared" }

    /// Lines about the extent of the verification.
    var lines: [String] {
        let count = "\(journal.segments) segment\(journal.segments == 1 ? "" : "s")"
        let last = journal.next - 1
        let range = last < journal.first ? "no positions" : "positions \(journal.first) to \(last)"
        var lines = [
            "journal: \(count), \(ByteText.text(journal.bytes)), \(range), "
                + "\(journal.transactions) transactions read"
        ]
        if let torn = journal.torn {
            lines.append("journal: the last batch is incomplete, or is being written: \(torn)")
        }
        if let store {
            let compared = comparedAt.map {
                problems.contains { $0.kind == .difference }
                    ? ", compared at position \($0)"
                    : ", equal to a replay of the journal up to position \($0)"
            }
            lines.append("store: at position \(store.position)\(compared ?? "")")
        }
        return lines + (found == 0 ? ["no problems"] : [])
    }

    /// The summary as a JSON object for scripts, printed after the problems.
    var json: JSON {
        func number(_ value: UInt64?) -> JSON { value.map { .int(Int64(clamping: $0)) } ?? .null }
        return .object([
            "kind": .string("summary"), "problems": .int(Int64(found)),
            "segments": .int(Int64(journal.segments)), "bytes": number(journal.bytes),
            "first": number(journal.first), "last": number(journal.next - 1),
            "transactions": number(journal.transactions),
            "torn": journal.torn.map { .string($0) } ?? .null,
            "store": number(store?.position), "comparedAt": number(comparedAt),
        ])
    }
}

extension BackupManifest {
    /// Returns the inconsistencies between a backup's files and its manifest.
    fileprivate func problems(
        _ journal: JournalVerification, _ store: StoreSummary?, _ folder: StoreFolder
    ) -> [VerifyProblem] {
        let path = "\(folder.path)/\(Self.fileName)"
        var found: [VerifyProblem] = []
        func add(_ message: String) {
            found.append(VerifyProblem(kind: .difference, path: path, message: message))
        }
        if journal.next - 1 != last {
            add(
                "the manifest has the position \(last), but the journal ends at \(journal.next - 1)"
            )
        }
        if let store, store.position != position {
            add("the manifest has the store's position \(position), but it is \(store.position)")
        }
        return found
    }
}

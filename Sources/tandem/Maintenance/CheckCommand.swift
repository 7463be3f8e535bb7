import ArgumentParser
import Tandem
import TandemIO
import TandemStore

/// `tandem check`: finds inconsistencies within the store and repairs what it can.
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check the store for inconsistencies.",
        discussion: """
            Rows are assumed to be correct. --repair corrects indexes, unique keys, links, counts and marks that \
            contradict the rows; only `tandem rebuild` recovers missing or unreadable rows. If a daemon is running, \
            the last checkpoint is checked; --repair needs a stopped daemon. Exits with 1 if there is a fault.
            """)

    @OptionGroup var location: StoreDirectory

    @Flag(help: "Repair what can be derived from rows, after confirmation.")
    var repair = false

    @Flag(help: "With --repair: show what would change, and change nothing.")
    var dryRun = false

    @Flag(name: .shortAndLong, help: "Do not ask for confirmation.")
    var yes = false

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    func validate() throws {
        if dryRun || yes, !repair { throw ValidationError("--dry-run and --yes need --repair") }
    }

    func run() throws {
        let lock = repair && !dryRun ? try location.lock() : nil
        defer { withExtendedLifetime(lock) {} }
        let report = try inspect()
        warnOfMissingSegments()
        for finding in report.findings { show(finding) }
        guard !report.isClean else { return reportClean(report) }
        guard repair else {
            throw CommandFailure(summary(report) + hint(report))
        }
        if dryRun {
            report.repairs.forEach { printLine("would \($0)") }
            throw CommandFailure(summary(report) + "; nothing was changed")
        }
        guard !report.repairs.isEmpty else { throw CommandFailure(summary(report) + hint(report)) }
        try ask(report.repairs.count)
        try repairStore(report)
    }

    /// Warns about missing segments, which do not make the store invalid.
    private func warnOfMissingSegments() {
        let journal = JournalFolder(location.journal)
        guard let first = try? journal.segments().first?.first,
            let missing = journal.missing(before: first)
        else { return }
        printRemark("warning: \(journal.path): \(missing.message)")
    }

    private func inspect() throws -> StoreReport {
        let store = try location.openForReading()
        defer { store.close() }
        return try inspect(store)
    }

    private func inspect(_ store: Store) throws -> StoreReport {
        let progress = ProgressBar("check")
        defer { progress.end() }
        return try mapped { try store.check(progress: progress.update) }
    }

    private func show(_ finding: StoreFinding) {
        printLine(output == .json ? finding.json.text : "\(finding)")
    }

    private func summary(_ report: StoreReport) -> String {
        let repairable = report.findings.count { !$0.repairs.isEmpty }
        let more = report.found > report.findings.count ? " (only the first are shown)" : ""
        return "\(Quantity.count(report.found, "fault")) in \(location.store) at position "
            + "\(report.position)\(more), "
            + "of which --repair can correct \(repairable)"
    }

    private func hint(_ report: StoreReport) -> String {
        report.repairs.isEmpty
            ? "; run `tandem rebuild`"
            : "; stop the daemon and run `tandem check --repair`, or `tandem rebuild`"
    }

    private func reportClean(_ report: StoreReport) {
        let read = StoreTable.allCases.map { ($0.rawValue, report.keysRead[$0, default: 0]) }
            .filter { $0.1 > 0 }
        if output == .json {
            let keys = read.map { ($0, JSON.int(Int64($1))) }
            let summary: JSON = .object([
                "position": .int(Int64(clamping: report.position)), "faults": .int(0),
                "keys": .object(Dictionary(uniqueKeysWithValues: keys)),
            ])
            return printLine(summary.text)
        }
        let tables = read.map { "\($1) \($0)" }
        let list = tables.isEmpty ? "the store is empty" : tables.joined(separator: ", ")
        printLine("position \(report.position): \(list); no faults")
    }

    private func ask(_ count: Int) throws {
        try Confirmation.ask(
            "change \(Quantity.count(count, "key")) of \(location.store)?", unless: yes)
    }

    private func repairStore(_ first: StoreReport) throws {
        // Opening a missing store for writing would create it, but this store was just read.
        let store = try mapped {
            try Store.open(
                path: location.store,
                newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 0))
        }
        defer { store.close() }
        var report = first
        var changed = 0
        while !report.repairs.isEmpty {
            let before = report.found
            changed += report.repairs.count
            try mapped { try store.repair(report.repairs) }
            report = try inspect(store)
            if report.found >= before { break }
        }
        printLine("changed \(Quantity.count(changed, "key"))")
        guard report.isClean else {
            throw CommandFailure(
                "\(Quantity.count(report.found, "fault")) left; run `tandem rebuild`")
        }
    }
}

extension StoreFinding {
    /// The finding as a JSON object, printed on one line.
    fileprivate var json: JSON {
        .object([
            "kind": .string(kind.rawValue), "table": .string(table.rawValue),
            "key": .string(key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()),
            "object": object.map { .string($0.description) } ?? .null,
            "property": property.map { .string($0) } ?? .null, "message": .string(message),
            "repairs": .array(repairs.map { .string($0.description) }),
        ])
    }
}

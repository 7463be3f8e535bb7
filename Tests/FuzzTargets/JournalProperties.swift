import TandemIO
import TandemJournal

/// The properties of a journal's directory, whatever its content.
struct JournalProperties {
    private let disk: SimulatedFileSystem
    private let damaged: DamagedJournal?
    private let options: JournalOptions
    private let applied: UInt64?

    /// Creates the properties; `damaged` describes the journal, and is nil for a forged one.
    init(_ disk: SimulatedFileSystem, choices: UInt8, _ damaged: DamagedJournal?) {
        self.disk = disk
        self.damaged = damaged
        var options = JournalPlaces.options
        if choices & 2 != 0 { options.verification = .full }
        self.options = options
        applied = choices & 4 != 0 ? damaged.map { UInt64($0.payloads.count) } : nil
    }

    func check() throws {
        try checkReader()
        let before = try content()
        let opened: (journal: Journal, report: RecoveryReport)
        do {
            opened = try open()
        } catch let error as JournalError {
            try checkRefusal(error, before)
            return
        }
        try check(opened.journal, opened.report)
        try checkLater(opened.journal.bounds)
    }

    /// Whether content may be invalid although its checksum is correct.
    private var isForged: Bool { damaged?.isForged ?? true }

    private func open(
        applied: UInt64? = nil
    ) throws -> (journal: Journal, report: RecoveryReport) {
        let (journal, report) = try Journal.open(
            directory: JournalPlaces.directory, fileSystem: disk, options: options,
            identityIfNew: JournalPlaces.identity, appliedPosition: applied ?? self.applied)
        return (journal, report)
    }

    private func content() throws -> [String: [UInt8]] {
        var content: [String: [UInt8]] = [:]
        for path in try JournalPlaces.segments(disk) { content[path] = disk.bytes(of: path) }
        return content
    }

    // MARK: A journal that is not opened

    /// Checks that an error names the location, and that nothing was changed.
    private func checkRefusal(_ error: JournalError, _ before: [String: [UInt8]]) throws {
        try hold(
            error.path.hasPrefix(JournalPlaces.directory) && !error.message.isEmpty,
            "an error without a location: \(error)")
        try hold(try content() == before, "a refused journal was changed: \(error)")
        let isUntouched = damaged.map { !$0.isChanged } ?? false
        try hold(!isUntouched, "an undamaged journal is refused: \(error)")
    }

    // MARK: An opened journal

    private func check(_ journal: Journal, _ report: RecoveryReport) throws {
        let bounds = journal.bounds
        try hold(report.bounds == bounds, "the report says \(report.bounds), the journal \(bounds)")
        try hold(bounds.last >= applied ?? 0, "it ends at \(bounds.last), before \(applied ?? 0)")
        guard let entries = try entries(journal) else { return try journal.close() }
        try hold(
            entries.map(\.position) == Array(bounds.first..<(bounds.last + 1)),
            "\(bounds) has the entries \(entries.map(\.position))")
        try check(entries)
        if let damaged, !damaged.isChanged {
            try hold(entries.count == damaged.payloads.count, "\(entries.count) entries are left")
        }
        try journal.close()
    }

    /// Returns all entries; nil if one can't be read and opening the journal could not have
    /// detected this.
    private func entries(_ journal: Journal) throws -> [Entry]? {
        guard !journal.bounds.isEmpty else { return [] }
        var entries: [Entry] = []
        do throws(JournalError) {
            let cursor = try journal.read(from: journal.bounds.first)
            while let entry = try cursor.next() { entries.append(entry) }
        } catch {
            // Segments before the last are only read when needed, and correct checksums don't imply
            // valid content.
            try hold(isForged || options.verification != .full, "it was opened, and then \(error)")
            try hold(error.code == .damaged && error.offset != nil, "no damage named: \(error)")
            try check(entries)
            return nil
        }
        return entries
    }

    /// Checks that entries equal the written ones, unless a checksum was forged.
    private func check(_ entries: [Entry]) throws {
        guard let damaged, !damaged.isForged else { return }
        for entry in entries {
            let index = Int(exactly: entry.position).map { $0 - 1 } ?? -1
            try hold(damaged.payloads.indices.contains(index), "an entry at \(entry.position)")
            try hold(
                damaged.payloads[index] == entry.payload, "another payload at \(entry.position)")
        }
    }

    /// Checks that the journal is the same after opening it again, and accepts another batch that
    /// can be read back.
    private func checkLater(_ bounds: LogBounds) throws {
        let (journal, report) = try open()
        try hold(journal.bounds == bounds, "opened again it has \(journal.bounds), not \(bounds)")
        try hold(report.cutOffset == nil, "the journal was truncated twice")
        var batch = BatchBuilder()
        batch.append([1, 2, 3])
        // After the highest possible position nothing can be appended; callers have to check that.
        guard bounds.last < UInt64(Int64.max) else { return try journal.close() }
        _ = try journal.append(expected: bounds.last, batch: &batch)
        // Before that entry, the reader may encounter invalid payloads with correct checksums.
        let last = try? journal.read(from: bounds.last + 1).next()
        try hold(
            isForged && last == nil
                || last == Entry(position: bounds.last + 1, payload: [1, 2, 3]),
            "\(bounds) and one more")
        try journal.close()
    }

    // MARK: Concurrent reading

    /// Checks that a reader without a lock visits everything once, in ascending order, and ends.
    private func checkReader() throws {
        let reader = JournalReader(
            directory: JournalPlaces.directory, fileSystem: disk, from: 1)
        var entries: [Entry] = []
        var gaps = 0
        do throws(JournalError) {
            while let item = try reader.next() {
                switch item {
                case .entry(let entry): entries.append(entry)
                case .gap: gaps += 1
                }
                if gaps + entries.count > 100_000 { break }
            }
        } catch {
            try hold(!error.message.isEmpty, "an error without a message")
        }
        try hold(gaps + entries.count <= 100_000, "a reader does not end")
        let positions = entries.map(\.position)
        try hold(
            zip(positions, positions.dropFirst()).allSatisfy(<), "a reader goes back: \(positions)")
        try check(entries)
    }
}

import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The segments of a journal directory, for reading, copying and replaying.
struct JournalFolder {
    let path: String
    private let files = RealFileSystem()

    /// The remedy for a journal that is missing or has lost transactions.
    static let salvage =
        "stop the daemon, and run `tandem salvage DIR --to NEW`, which keeps all that is readable"

    init(_ path: String) { self.path = path }

    /// Returns the names of the segments with their first positions, oldest first.
    func segments() throws -> [(first: UInt64, name: String)] {
        try StoreFolder.checkAccess(path)
        guard files.exists(path) else { return [] }
        return try files.list(path).compactMap { name in
            guard name.hasSuffix(".journal"),
                let first = UInt64(name.dropLast(".journal".count), radix: 16), first > 0
            else { return nil }
            return (first, name)
        }.sorted { $0.first < $1.first }
    }

    /// Returns the positions before the first segment that were lost and not trimmed, or nil if
    /// there are none.
    func missing(before first: UInt64) -> (positions: ClosedRange<UInt64>, message: String)? {
        OldestPosition(path, files).missing(before: first)
    }

    /// Returns the path of the segment that begins at a position.
    func path(ofSegment first: UInt64) -> String {
        let digits = String(first, radix: 16)
        return path + "/" + String(repeating: "0", count: 16 - digits.count) + digits + ".journal"
    }

    /// Returns the segments with their positions and sizes, as input for retention.
    ///
    /// A segment is assumed to end before the first position of the next one, even if batches are
    /// missing between them.
    func sizes() throws -> [JournalSegment] {
        let segments = try segments()
        guard !segments.isEmpty else { return [] }
        let last = try last()
        return try segments.enumerated().map { index, segment in
            let end = index + 1 < segments.count ? segments[index + 1].first - 1 : nil
            return JournalSegment(
                first: segment.first, last: end ?? last ?? segment.first - 1,
                bytes: try files.open("\(path)/\(segment.name)", .read).size())
        }
    }

    /// Returns the position of the last complete batch in the last segment, or nil if there is
    /// none.
    func last() throws -> UInt64? {
        let reader = JournalReader(directory: path, fileSystem: files, from: .max)
        while try reader.next() != nil {}
        return reader.following.map { $0 - 1 }
    }

    /// Returns the segments whose header or first batch is unreadable, each with the gap found
    /// there.
    func damagedBeginnings() throws -> [(first: UInt64, gap: JournalReader.Gap)] {
        try segments().compactMap { first, _ in
            let reader = JournalReader(directory: path, fileSystem: files, from: first)
            guard case .gap(let gap)? = try reader.next() else { return nil }
            return (first, gap)
        }
    }

    /// Copies and verifies the segments with all transactions after a position, up to the last
    /// complete batch.
    ///
    /// Returns the last position of the copy, or nil if the journal was trimmed beyond the
    /// position. Throws ``CommandFailure`` if there is no journal, if it ends before the position,
    /// or if a copied segment is damaged anywhere: `restore` would refuse such a backup.
    func copyTail(after position: UInt64, to folder: String) throws -> UInt64? {
        guard try !segments().isEmpty else {
            throw CommandFailure(
                "there is no journal in \(path), which a backup needs; \(Self.salvage)"
            )
        }
        guard let start = try start(after: position) else { return nil }
        do {
            let last = try copy(from: start, to: folder)
            guard last >= position else {
                throw CommandFailure(
                    "the journal in \(path) ends at position \(last), before the store's position "
                        + "\(position): transactions are missing; \(Self.salvage)")
            }
            return last
        } catch {
            if try self.start(after: position) == nil { return nil }
            throw error
        }
    }

    /// Returns the first position of the segment that continues after a position.
    private func start(after position: UInt64) throws -> UInt64? {
        try segments().last { $0.first <= position + 1 }?.first
    }

    private func copy(from start: UInt64, to folder: String) throws -> UInt64 {
        let reader = try readThrough(from: start)
        guard let end = reader.end else {
            throw CommandFailure("the journal in \(path) cannot be read; \(Self.salvage)")
        }
        let progress = ProgressBar("copy the journal")
        defer { progress.end() }
        var done: UInt64 = 0
        let copied = try segments().filter { $0.first >= start && $0.first <= end.segment }
        let total = try copied.reduce(UInt64(0)) { total, segment in
            let whole = try files.open("\(path)/\(segment.name)", .read).size()
            return total + (segment.first == end.segment ? end.offset : whole)
        }
        for (first, name) in copied {
            // Bytes written after the reader reached the end are not copied, so that the copy ends
            // with a complete batch.
            try FileCopy.copy(
                "\(path)/\(name)", to: "\(folder)/\(name)",
                bytes: first == end.segment ? end.offset : nil, files
            ) {
                done += $0
                progress.update(done, of: total)
            }
        }
        progress.end()
        try JournalFolder(folder).checkCopy(of: self, through: reader.position - 1)
        return reader.position - 1
    }

    /// Verifies a copy; throws ``CommandFailure`` for the first problem.
    private func checkCopy(of source: JournalFolder, through last: UInt64) throws {
        let copy = JournalVerification(self)
        let progress = ProgressBar("check the journal")
        defer { progress.end() }
        try copy.run(progress)
        if let problem = copy.problems.first {
            let name = problem.path.split(separator: "/").last ?? ""
            throw CommandFailure(
                "the journal is damaged: \(source.path)/\(name)"
                    + (problem.offset.map { " at offset \($0)" } ?? "") + ": \(problem.message); "
                    + Self.salvage)
        }
        guard copy.next - 1 == last, copy.torn == nil else {
            throw CommandFailure(
                "the copy of the journal ends at position \(copy.next - 1), but the journal was read up to "
                    + "\(last); run the command again")
        }
    }

    /// Reads all transactions from a position to the end; returns the reader, or throws if there is
    /// a gap.
    private func readThrough(from position: UInt64) throws -> JournalReader {
        let reader = JournalReader(directory: path, fileSystem: files, from: position)
        while let item = try reader.next() {
            guard case .gap(let gap) = item else { continue }
            throw CommandFailure.damaged(gap, Self.salvage)
        }
        return reader
    }

    /// Opens the journal for writing, as the daemon does; throws ``CommandFailure`` if there is
    /// none.
    func open(appliedPosition: UInt64?, segmentBytes: Int? = nil) throws -> Journal {
        guard try !segments().isEmpty else {
            throw CommandFailure(
                "there is no journal in \(path); -D takes the directory of a store, and "
                    + "`tandem restore` creates one from a backup")
        }
        var options = JournalOptions()
        if let segmentBytes { options.segmentBytes = segmentBytes }
        return try Journal.open(
            directory: path, fileSystem: files, options: options,
            identityIfNew: LogIdentity(high: 0, low: 0), appliedPosition: appliedPosition
        ).journal
    }
}

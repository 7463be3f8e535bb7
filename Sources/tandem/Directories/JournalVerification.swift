import Tandem
import TandemIO
import TandemJournal

/// Reads a whole journal, with or without a running daemon, and collects its problems.
final class JournalVerification {
    /// The maximum number of problems in the list; further problems are only counted.
    static let problemsKept = 1_000

    private let folder: JournalFolder
    private let files = RealFileSystem()
    private(set) var problems: [VerifyProblem] = []
    private(set) var found = 0
    private(set) var segments = 0
    private(set) var bytes: UInt64 = 0
    private(set) var transactions: UInt64 = 0
    /// The first position, and the position after the last one.
    private(set) var first: UInt64 = 1
    private(set) var next: UInt64 = 1
    /// The log and epoch of the last segment, which may be empty; nil if no segment is readable.
    private(set) var identity: LogIdentity?
    /// A description of an incomplete last batch, which is being written or whose writer died; nil
    /// if the last batch is complete.
    private(set) var torn: String?
    /// The end offset of the batches in each segment that was read without a gap.
    private var ends: [UInt64: UInt64] = [:]

    init(_ folder: JournalFolder) { self.folder = folder }

    /// Reads and checks the whole journal; throws ``CommandFailure`` if there is none, or if a file
    /// can't be opened.
    func run(_ progress: ProgressBar) throws {
        let sizes = try mapped { try folder.sizes() }
        guard let oldest = sizes.first else {
            throw CommandFailure.noJournal(in: folder.path)
        }
        (first, next) = (oldest.first, oldest.first)
        (segments, bytes) = (sizes.count, sizes.reduce(0) { $0 + $1.bytes })
        if let missing = folder.missing(before: first) {
            record(
                VerifyProblem(
                    kind: .gap, path: folder.path, positions: missing.positions,
                    message: missing.message))
        }
        let reader = JournalReader(directory: folder.path, fileSystem: files, from: first)
        while let item = try mapped({ try item(of: reader) }) {
            switch item {
            case .gap(let gap): try record(gap, reader)
            case .entry(let entry): record(entry, reader)
            }
            if transactions.isMultiple(of: 4_096) { show(progress, reader, sizes) }
        }
        // The first segment of a new epoch may have no transactions yet.
        if let end = reader.end, ends[end.segment] == nil {
            checkIdentity(reader, folder.path(ofSegment: end.segment))
        }
        next = max(next, reader.following ?? next)
        torn = reader.tailProblem.map { "\($0)" }
        try mapped { try checkAfterBatches(sizes) }
    }

    private func show(
        _ progress: ProgressBar, _ reader: JournalReader, _ sizes: [JournalSegment]
    ) {
        let passed = sizes.reduce(0) { $1.last < next ? $0 + $1.bytes : $0 }
        progress.update(min(bytes, passed + (reader.end?.offset ?? 0)), of: bytes)
    }

    /// Returns the next item; throws if the journal was trimmed meanwhile, which is not damage.
    private func item(of reader: JournalReader) throws -> JournalReader.Item? {
        do throws(JournalError) {
            return try reader.next()
        } catch {
            throw error.code == .expired ? Self.trimmed : CommandFailure("\(error)")
        }
    }

    private static var trimmed: CommandFailure {
        CommandFailure("the journal was trimmed while it was read; run the command again")
    }

    private func record(_ problem: VerifyProblem) {
        found += 1
        if problems.count < Self.problemsKept { problems.append(problem) }
    }

    private func record(_ gap: JournalReader.Gap, _ reader: JournalReader) throws {
        if let oldest = try mapped({ try folder.segments().first?.first }),
            oldest > gap.firstMissing
        {
            throw Self.trimmed
        }
        let last = gap.next.map { $0 - 1 }
        if let segment = reader.end?.segment { ends[segment] = nil }
        if let last, last >= gap.firstMissing {
            record(
                VerifyProblem(
                    kind: .gap, path: gap.path, offset: gap.offset,
                    positions: gap.firstMissing...last,
                    message: "\(gap.reason); positions \(gap.firstMissing) to \(last) are missing"))
        } else {
            record(
                VerifyProblem(
                    kind: .gap, path: gap.path, offset: gap.offset,
                    message: "\(gap.reason), before position \(gap.firstMissing)"))
        }
        next = max(next, gap.next ?? next)
    }

    private func record(_ entry: Entry, _ reader: JournalReader) {
        transactions += 1
        next = entry.position + 1
        guard let end = reader.end else { return }
        let path = folder.path(ofSegment: end.segment)
        if ends.updateValue(end.offset, forKey: end.segment) == nil { checkIdentity(reader, path) }
        do {
            let transaction = try EncodedTransaction(bytes: entry.payload)
            guard transaction.position != entry.position else { return }
            recordUnusable(path, entry, "the transaction has the position \(transaction.position)")
        } catch {
            recordUnusable(path, entry, "\(error)")
        }
    }

    private func recordUnusable(_ path: String, _ entry: Entry, _ what: String) {
        record(
            VerifyProblem(
                kind: .transaction, path: path, positions: entry.position...entry.position,
                message: "transaction \(entry.position) is unusable: \(what)"))
    }

    /// Checks that a segment belongs to the same log as its predecessor, and to no older epoch.
    private func checkIdentity(_ reader: JournalReader, _ path: String) {
        guard let new = reader.identity else { return }
        defer { identity = new }
        guard let old = identity else { return }
        if !old.isSameLog(as: new) {
            record(
                VerifyProblem(
                    kind: .identity, path: path,
                    message: "segment belongs to a different log than the previous segment"))
        } else if new.epoch < old.epoch {
            record(
                VerifyProblem(
                    kind: .identity, path: path,
                    message: "segment has epoch \(new.epoch), but the previous segment has epoch "
                        + "\(old.epoch)"))
        }
    }

    /// Checks that only zeros follow the batches of each finished segment; the daemon refuses other
    /// bytes.
    private func checkAfterBatches(_ sizes: [JournalSegment]) throws {
        for segment in sizes.dropLast() {
            let path = folder.path(ofSegment: segment.first)
            guard let end = ends[segment.first], files.exists(path) else { continue }
            let file = try files.open(path, .read)
            defer { file.close() }
            guard let offset = try Self.firstNonZeroOffset(of: file, from: end) else { continue }
            record(
                VerifyProblem(
                    kind: .garbage, path: path, offset: offset,
                    message:
                        "the bytes after the last batch, which ends at offset \(end), are not all zero"
                ))
        }
    }

    /// Returns the offset of the first non-zero byte, or nil if there is none.
    private static func firstNonZeroOffset(of file: any File, from start: UInt64) throws -> UInt64?
    {
        var offset = start
        while true {
            let piece = try file.read(count: 1 << 20, at: offset)
            guard !piece.isEmpty else { return nil }
            if let index = piece.firstIndex(where: { $0 != 0 }) { return offset + UInt64(index) }
            offset += UInt64(piece.count)
        }
    }
}

import Tandem
import TandemIO

/// The reject file of an import, which records the rejected rows.
///
/// Each line is a JSON object with the import's id, the file's name if the import has several
/// files, the line number, the reason and the row's text. A rejected row is written before any
/// later row is inserted. An import that is resumed under its id therefore omits the rows that the
/// first attempt rejected, and inserts no row twice.
final class RejectFile {
    /// The stage that rejected a row.
    enum Stage: String {
        /// The row can't be read, does not fit the entity, or has a link without a target.
        case reader
        case daemon
        /// The row was imported, but its links could not be set.
        case links
    }

    /// A rejected row and the reason.
    struct Reject: Sendable {
        var line: Int
        var raw: String
        var reason: String
    }

    /// A state of the file that ``removeAll(after:)`` restores.
    struct Mark {
        fileprivate var end: UInt64
        fileprivate var lines: [String: [Int: Stage]]
        fileprivate var firstReason: String?
    }

    let path: String
    /// The id of the import.
    private let id: String
    private let files = RealFileSystem()
    /// The lock that excludes other imports; nil if the file system has no locks, or if the file
    /// can't be created, in which case no row can be rejected.
    private var lock: AdvisoryLock?
    private var file: (any File)?
    /// Whether the file existed before this attempt.
    private let existedBefore: Bool
    private var end: UInt64 = 0
    /// The rejected lines by file name, which is empty for a single file.
    private var lines: [String: [Int: Stage]] = [:]
    /// The reason for the first rejected row of the file.
    private(set) var firstReason: String?
    var count: Int { lines.values.reduce(0) { $0 + $1.count } }
    var mark: Mark { Mark(end: end, lines: lines, firstReason: firstReason) }

    /// Opens the file of an import, and reads the rejects of an earlier attempt if the import is
    /// resumed.
    ///
    /// No other import can use the file until ``close()`` or deinitialisation. Without file locks,
    /// a warning is printed instead. Throws ``CommandFailure`` in these cases:
    /// - another import is writing to the file,
    /// - the file has content, but the import is not resumed,
    /// - the file belongs to another import, or is not a reject file,
    /// - the file can't be read.
    init(_ path: String, of id: String, isContinued: Bool) throws {
        self.path = path
        self.id = id
        let wasThere = files.exists(path)
        lock = try Self.lock(path)
        // Without locks, another import may have removed the file in the meantime.
        existedBefore = wasThere && (lock != nil || files.exists(path))
        guard files.exists(path), try mapped({ try files.open(path, .read).size() }) > 0 else {
            return
        }
        guard isContinued else {
            throw CommandFailure(
                "\(path) exists; continue the import that wrote it (--id), delete the file after correcting the "
                    + "rows, or name another file with --rejects",
                code: 2)
        }
        try mapped { try read() }
    }

    /// Locks the file, and creates it if necessary.
    ///
    /// Returns nil if there are no locks, or if the file can't be created: an import without
    /// rejects does not need it.
    private static func lock(_ path: String) throws -> AdvisoryLock? {
        do {
            return try AdvisoryLock(path)
        } catch let error where error.isLocked {
            throw CommandFailure("another import is writing to \(path); wait until it has ended")
        } catch let error where error.isNotRegular {
            throw CommandFailure(
                "\(path) is not a regular file; name another file with --rejects", code: 2)
        } catch let error where error.lacksLocks {
            // Without locks, the import that creates the file owns it; other imports fail because
            // the file exists.
            printRemark("\(error); make sure that no other import uses this reject file")
            return nil
        } catch {
            return nil
        }
    }

    /// Releases the lock; removes the file if it is empty and did not exist before.
    func close() {
        if !existedBefore, lock != nil, count == 0, (try? files.open(path, .read).size()) == 0 {
            try? files.remove(path)
        }
        lock = nil
    }

    /// Removes the rejects of this attempt, so that the import can be started from scratch.
    func discard() throws {
        guard !existedBefore else { return }
        try mapped {
            if files.exists(path) { try files.remove(path) }
            try files.syncDirectory(path.parentDirectory)
        }
        lines = [:]
    }

    /// Removes the rejects after a mark; call it only if no row was inserted after the mark.
    func removeAll(after mark: Mark) throws {
        guard end > mark.end else { return }
        try mapped {
            let file = try opened()
            try file.truncate(to: mark.end)
            try file.sync()
        }
        (end, lines, firstReason) = (mark.end, mark.lines, mark.firstReason)
    }

    /// Returns the rejected lines of a file, without rows that were imported without their links.
    func lines(of file: String = "") -> Set<Int> {
        Set((lines[file] ?? [:]).filter { $0.value != .links }.keys)
    }

    /// The maximum length of a line of the file, in bytes.
    ///
    /// A byte of a row may need six bytes as JSON, and a record of a table may have almost twice
    /// the length of a line. Another 16 MiB are enough for the other members.
    private static let longest = 6 * 2 * ImportLines.longest + (16 << 20)

    /// Returns a reason, cut to 1,000 characters because it may contain a long value.
    static func shortened(_ reason: String) -> String {
        let text = reason.unicodeScalars
        guard let end = text.index(text.startIndex, offsetBy: 1_000, limitedBy: text.endIndex),
            end < text.endIndex
        else { return reason }
        return String(text[..<end]) + "…"
    }

    private func read() throws {
        let file = try files.open(path, .readWrite)
        var lines = ImportLines(file, longest: Self.longest)
        while let line = try lines.next() {
            // The write was cut off, so no later row was sent. The row will be rejected again.
            if Self.isBegun(line), try isCut(at: lines.location) { break }
            let json = try? JSON(parsing: String(decoding: line, as: UTF8.self))
            guard let json, json["import"]?.string == id, record(json) else { throw foreign(json) }
            end = lines.location.offset
        }
        try file.truncate(to: end)
        self.file = file
    }

    /// Records a reject of an earlier attempt; returns false if the JSON is not a valid reject.
    private func record(_ json: JSON) -> Bool {
        guard let line = json["line"]?.int.flatMap(Int.init(exactly:)),
            let stage = json["by"]?.string.flatMap(Stage.init(rawValue:))
        else { return false }
        lines[json["file"]?.string ?? "", default: [:]][line] = stage
        firstReason = firstReason ?? json["error"]?.string
        return true
    }

    /// Returns whether the line that ends at `location` is the last one and has no line break.
    private func isCut(at location: ImportLines.Location) throws -> Bool {
        let file = try files.open(path, .read)
        return try file.size() == location.offset
            && file.read(count: 1, at: location.offset - 1) != [UInt8(ascii: "\n")]
    }

    /// Returns whether a line may be a rejected row's record, complete or cut off.
    private static func isBegun(_ line: [UInt8]) -> Bool {
        let beginning = #"{"by":"#.utf8
        return line.starts(with: beginning) || beginning.starts(with: line)
    }

    private func foreign(_ json: JSON?) -> CommandFailure {
        if let other = json?["import"]?.string, other != id {
            return CommandFailure(
                "\(path) belongs to the import \(other); continue with --id \(other), or name another file with --rejects",
                code: 2)
        }
        return CommandFailure(
            "\(path) is not a reject file and was not changed; name another file with --rejects",
            code: 2
        )
    }

    /// Adds rejected rows of a file; durable on return.
    ///
    /// Cost: one flush, regardless of the number of rows.
    func add(_ rejects: [Reject], of name: String = "", by stage: Stage) throws {
        var bytes: [UInt8] = []
        for reject in rejects where lines[name]?[reject.line] == nil {
            lines[name, default: [:]][reject.line] = stage
            firstReason = firstReason ?? Self.shortened(reject.reason)
            var members: [String: JSON] = [
                "import": .string(id), "line": .int(Int64(reject.line)),
                "by": .string(stage.rawValue), "error": .string(Self.shortened(reject.reason)),
                "row": .string(reject.raw),
            ]
            if !name.isEmpty { members["file"] = .string(name) }
            bytes.put(JSON.object(members).text, "\n")
        }
        if bytes.isEmpty { return }
        try mapped {
            let file = try opened()
            try file.write(bytes, at: end)
            try file.sync()
            if end == 0 { try files.syncDirectory(path.parentDirectory) }
            end += UInt64(bytes.count)
        }
    }

    /// Returns the file to write to.
    ///
    /// Without locks, a new file is created exclusively, so that only one import owns it.
    private func opened() throws -> any File {
        if let file { return file }
        do throws(IOError) {
            let opened = try files.open(
                path, lock == nil && !existedBefore ? .createNew : .readWrite)
            file = opened
            return opened
        } catch {
            guard error.alreadyExists else { throw error }
            throw CommandFailure(
                "another import created \(path) meanwhile; name another file with --rejects"
            )
        }
    }
}

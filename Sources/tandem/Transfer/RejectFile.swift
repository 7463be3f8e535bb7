import Tandem
import TandemIO

/// The rows that were not imported, one object a line: the file, if there are several, the line's number, why, and the row as it stood.
///
/// A refused row stands here before anything behind it is inserted: so an import that goes on under its id leaves out what the first
/// attempt left out, and inserts no row twice.
final class RejectFile {
    /// Who refused a row.
    enum Judge: String {
        /// It can't be read, does not fit the entity, or leads to nothing.
        case reader
        case daemon
        /// It is imported, but its links could not be set.
        case links
    }

    /// A row and what is wrong with it.
    struct Reject: Sendable {
        var line: Int
        var raw: String
        var reason: String
    }

    let path: String
    /// The import that they are of.
    private let id: String
    private let files = RealFileSystem()
    /// Keeps other imports from it; nil where there are no locks, or can be no such file, and so no reject.
    private var lock: AdvisoryLock?
    private var file: (any File)?
    /// Whether it was there before.
    private let isOthers: Bool
    private var end: UInt64 = 0
    /// Who refused which lines, by the names of files; "" where there is one only.
    private var lines: [String: [Int: Judge]] = [:]
    var count: Int { lines.values.reduce(0) { $0 + $1.count } }

    /// The rejects of an import; those of an earlier attempt are taken up where it goes on.
    ///
    /// While it lives, or until ``close()``, no other import has the same file; where there are no locks it says so, and goes on. Throws
    /// ``CommandFailure`` for a file that another import is writing, is there though nothing goes on, is of another import or none, or can't
    /// be read.
    init(_ path: String, of id: String, isContinued: Bool) throws {
        self.path = path
        self.id = id
        let wasThere = files.exists(path)
        lock = try Self.lock(path)
        // Without locks what another import left behind for a moment may be gone by now.
        isOthers = wasThere && (lock != nil || files.exists(path))
        guard files.exists(path), try mapped({ try files.open(path, .read).size() }) > 0 else {
            return
        }
        guard isContinued else {
            throw CommandFailure(
                "\(path) exists; go on with the --id of that import if it is its file of rejects, or name another "
                    + "file with --rejects", code: 2)
        }
        try mapped { try read() }
    }

    /// The lock on the file, which is there then, if nothing is in it yet.
    ///
    /// Nil where there are no locks, and where no file can be made: an import that rejects nothing needs none.
    private static func lock(_ path: String) throws -> AdvisoryLock? {
        do {
            return try AdvisoryLock(path)
        } catch let error where error.isLocked {
            throw CommandFailure("another import is writing to \(path); wait until it has ended")
        } catch let error where error.isNotRegular {
            throw CommandFailure("\(path) is no file; name one with --rejects", code: 2)
        } catch let error where error.lacksLocks {
            // Whoever makes the file has it, which leaves those who find it there.
            printRemark("\(error); take care that no other import has this file of rejects")
            return nil
        } catch {
            return nil
        }
    }

    /// Lets other imports have it; where nothing was rejected no file stays that was not there before.
    func close() {
        if !isOthers, lock != nil, count == 0, (try? files.open(path, .read).size()) == 0 {
            try? files.remove(path)
        }
        lock = nil
    }

    /// Removes what this attempt wrote, so that the import can start again as if it had not been tried.
    func discard() throws {
        guard !isOthers else { return }
        try mapped {
            if files.exists(path) { try files.remove(path) }
            try files.syncDirectory(path.parentDirectory)
        }
        lines = [:]
    }

    /// The lines of a file that were refused, and whose rows are not imported.
    func lines(of file: String = "") -> Set<Int> {
        Set((lines[file] ?? [:]).filter { $0.value != .links }.keys)
    }

    private func read() throws {
        let file = try files.open(path, .readWrite)
        var lines = ImportLines(file)
        while let line = try lines.next() {
            // Its write was cut off, so nothing behind it was sent: whoever refused the row will again.
            if Self.isBegun(line), try isCut(at: lines.place) { break }
            let json = try? JSON(parsing: String(decoding: line, as: UTF8.self))
            guard let json, json["import"]?.string == id, note(json) else { throw foreign(json) }
            end = lines.place.offset
        }
        try file.truncate(to: end)
        self.file = file
    }

    /// Takes up a reject of an earlier attempt; false for what is none.
    private func note(_ json: JSON) -> Bool {
        guard let line = json["line"]?.int.flatMap(Int.init(exactly:)),
            let judge = json["by"]?.string.flatMap(Judge.init(rawValue:))
        else { return false }
        lines[json["file"]?.string ?? "", default: [:]][line] = judge
        return true
    }

    /// Whether a line that ends here has no end of its own.
    private func isCut(at place: ImportLines.Place) throws -> Bool {
        let file = try files.open(path, .read)
        return try file.size() == place.offset
            && file.read(count: 1, at: place.offset - 1) != [UInt8(ascii: "\n")]
    }

    /// Whether a line may be the beginning of a reject.
    private static func isBegun(_ line: [UInt8]) -> Bool {
        let beginning = #"{"by":"#.utf8
        return line.starts(with: beginning) || beginning.starts(with: line)
    }

    private func foreign(_ json: JSON?) -> CommandFailure {
        if let other = json?["import"]?.string, other != id {
            return CommandFailure(
                "\(path) has the rejects of import \(other); go on with that --id, or name another file with --rejects",
                code: 2)
        }
        return CommandFailure(
            "\(path) is no file of rejects; it stays as it is: name another with --rejects", code: 2
        )
    }

    /// Keeps rows of a file; on the disk when it returns.
    ///
    /// Cost: one flush, however many there are.
    func add(_ rejects: [Reject], of name: String = "", by judge: Judge) throws {
        var bytes: [UInt8] = []
        for reject in rejects where lines[name]?[reject.line] == nil {
            lines[name, default: [:]][reject.line] = judge
            var members: [String: JSON] = [
                "import": .string(id), "line": .int(Int64(reject.line)),
                "by": .string(judge.rawValue), "error": .string(reject.reason),
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

    /// The file to write to; one that was not there before is made, so that of several imports without locks one has it.
    private func opened() throws -> any File {
        if let file { return file }
        do throws(IOError) {
            let opened = try files.open(path, lock == nil && !isOthers ? .createNew : .readWrite)
            file = opened
            return opened
        } catch {
            guard error.alreadyExists else { throw error }
            throw CommandFailure(
                "another import has made \(path) meanwhile; go on with --id \(id) and another file as --rejects"
            )
        }
    }
}

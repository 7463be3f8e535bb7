import Tandem
import TandemIO

/// The rows that were not imported, one object a line: the line's number, why, and the row as it stood.
///
/// What the daemon refused stands here before anything behind it is sent: so an import that goes on under its id cuts its batches
/// where the first attempt had to, and inserts no row twice.
final class RejectFile {
    /// Who refused a row.
    enum Judge: String {
        /// It can't be read, or does not fit the entity; every attempt finds that anew.
        case reader
        case daemon
    }

    let path: String
    /// The import that they are of.
    private let id: String
    private let files = RealFileSystem()
    private var file: (any File)?
    private var end: UInt64 = 0
    private(set) var count = 0
    /// The lines that the daemon refused.
    private(set) var refusedByDaemon: Set<Int> = []
    private var known: Set<Int> = []

    /// The rejects of an import; those of an earlier attempt are taken up where it goes on.
    ///
    /// Throws ``CommandFailure`` for a file that is there though nothing goes on, is of another import or none, or can't be read.
    init(_ path: String, of id: String, isContinued: Bool) throws {
        self.path = path
        self.id = id
        guard files.exists(path) else { return }
        guard isContinued else {
            throw CommandFailure(
                "\(path) exists; go on with the --id of that import, or remove it", code: 2)
        }
        try mapped { try read() }
    }

    private func read() throws {
        let file = try files.open(path, .readWrite)
        var lines = ImportLines(file)
        while let line = try lines.next() {
            // Its write was cut off, so nothing behind it was sent: whoever refused the row will again.
            if Self.isBegun(line), try isCut(at: lines.place) { break }
            let json = try? JSON(parsing: String(decoding: line, as: UTF8.self))
            guard let number = json?["line"]?.int.flatMap(Int.init(exactly:)),
                json?["import"]?.string == id
            else { throw foreign(json) }
            known.insert(number)
            if json?["by"]?.string == Judge.daemon.rawValue { refusedByDaemon.insert(number) }
            end = lines.place.offset
        }
        try file.truncate(to: end)
        count = known.count
        self.file = file
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

    /// Keeps a row; on the disk when it returns.
    func add(_ row: (line: Int, raw: String), _ judge: Judge, _ reason: String) throws {
        guard known.insert(row.line).inserted else { return }
        count += 1
        if judge == .daemon { refusedByDaemon.insert(row.line) }
        let json = JSON.object([
            "import": .string(id), "line": .int(Int64(row.line)), "by": .string(judge.rawValue),
            "error": .string(reason), "row": .string(row.raw),
        ])
        try mapped {
            let file = try self.file ?? files.open(path, .createNew)
            self.file = file
            let bytes = Array((json.text + "\n").utf8)
            try file.write(bytes, at: end)
            try file.sync()
            end += UInt64(bytes.count)
        }
    }
}

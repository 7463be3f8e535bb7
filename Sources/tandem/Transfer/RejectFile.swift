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
    private let files = RealFileSystem()
    private var file: (any File)?
    private var end: UInt64 = 0
    private(set) var count = 0
    /// The lines that the daemon refused.
    private(set) var refusedByDaemon: Set<Int> = []
    private var known: Set<Int> = []

    /// The rejects of an import; those of an earlier attempt are taken up where it goes on.
    ///
    /// Throws ``CommandFailure`` for a file that is there though nothing goes on, or can't be read.
    init(_ path: String, isContinued: Bool) throws {
        self.path = path
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
            let json = try? JSON(parsing: String(decoding: line, as: UTF8.self))
            // A last line may have been cut off.
            guard let number = json?["line"]?.int.flatMap(Int.init(exactly:)) else { break }
            known.insert(number)
            if json?["by"]?.string == Judge.daemon.rawValue { refusedByDaemon.insert(number) }
            end = lines.place.offset
        }
        try file.truncate(to: end)
        count = known.count
        self.file = file
    }

    /// Keeps a row; on the disk when it returns.
    func add(_ row: (line: Int, raw: String), _ judge: Judge, _ reason: String) throws {
        guard known.insert(row.line).inserted else { return }
        count += 1
        if judge == .daemon { refusedByDaemon.insert(row.line) }
        let json = JSON.object([
            "line": .int(Int64(row.line)), "by": .string(judge.rawValue),
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

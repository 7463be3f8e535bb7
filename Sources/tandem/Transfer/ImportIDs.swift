import Tandem
import TandemIO

/// The id of a row in a file.
///
/// In a file, unlike in a store, objects of two entities may have the same number.
struct FileID: Hashable {
    private let entity: String
    private let number: ObjectNumber

    init(_ id: ObjectID) {
        entity = id.entity
        number = id.number
    }

    /// Hashes only the number: few entities share a number, and strings are slow to hash.
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A file that maps the ids of exported rows to the numbers of the objects inserted for them.
///
/// The file exists until the links of the import are set. Each chunk of the import is recorded
/// before it is sent to the daemon. An import that resumes under its id can therefore link to
/// objects of earlier attempts. If an id has several lines, the last line applies, because the rows
/// of earlier lines were never inserted.
final class ImportIDs {
    private let path: String
    private let id: String
    private let files = RealFileSystem()
    private var file: (any File)?
    private var end: UInt64 = 0
    private(set) var numbers: [FileID: ObjectNumber] = [:]
    /// Whether an earlier attempt created the file.
    private(set) var isResumed = false

    /// Opens the import's file if it exists; throws ``CommandFailure`` if it belongs to another
    /// import.
    init(_ path: String, of id: String) throws {
        self.path = path
        self.id = id
        guard files.exists(path) else { return }
        try mapped { try read() }
        isResumed = true
    }

    private func read() throws {
        let file = try files.open(path, .readWrite)
        let size = try file.size()
        var lines = ImportLines(file)
        guard let first = try lines.next(), String(decoding: first, as: UTF8.self) == header else {
            throw CommandFailure(
                "\(path) belongs to another import; continue that import with its --id, or remove the file",
                code: 2)
        }
        end = lines.location.offset
        while let line = try lines.next() {
            let words = String(decoding: line, as: UTF8.self).split(separator: " ")
            // A power failure left the line incomplete, so no later row was sent.
            guard words.count == 2, let old = ObjectID(String(words[0])),
                let number = ObjectNumber(words[1]),
                try lines.location.offset < size || endsLine(file, size)
            else { break }
            numbers[FileID(old)] = number
            end = lines.location.offset
        }
        try file.truncate(to: end)
        self.file = file
    }

    private func endsLine(_ file: any File, _ size: UInt64) throws -> Bool {
        try file.read(count: 1, at: size - 1) == [UInt8(ascii: "\n")]
    }

    private var header: String { "import \(id)" }

    /// Creates the file; durable on return.
    func create() throws {
        guard file == nil else { return }
        try mapped {
            let file = try files.open(path, .createNew)
            let bytes = Array((header + "\n").utf8)
            try file.write(bytes, at: 0)
            try file.sync()
            try files.syncDirectory(path.parentDirectory)
            end = UInt64(bytes.count)
            self.file = file
        }
    }

    /// Records the numbers of rows; durable on return.
    func add(_ rows: [(old: ObjectID, number: ObjectNumber)]) throws {
        guard let file, !rows.isEmpty else { return }
        var bytes: [UInt8] = []
        for row in rows {
            numbers[FileID(row.old)] = row.number
            for word in [row.old.entity, "/", String(row.old.number), " ", String(row.number)] {
                bytes.put(word)
            }
            bytes.put("\n")
        }
        try mapped {
            try file.write(bytes, at: end)
            try file.sync()
        }
        end += UInt64(bytes.count)
    }

    /// Removes the file if this attempt created it; call it only if the attempt inserted no row.
    func discard() throws {
        guard !isResumed else { return }
        try remove()
    }

    /// Removes the file, after all links have been set.
    func remove() throws {
        guard file != nil else { return }
        file = nil
        try mapped {
            try files.remove(path)
            try files.syncDirectory(path.parentDirectory)
        }
    }
}

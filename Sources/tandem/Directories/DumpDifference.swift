import TandemIO
import TandemStore

/// Compares the dumps of two stores line by line, without loading either into memory.
final class DumpDifference {
    /// The maximum number of reported lines; one difference often causes a thousand others.
    static let reportedLineLimit = 20

    private let path: String
    private let files: RealFileSystem
    private var reported: [String] = []
    private var found = 0

    /// Creates a comparison that writes one of the dumps to a temporary file at `path`.
    init(_ path: String, _ files: RealFileSystem) {
        self.path = path
        self.files = files
    }

    /// Returns a message for each line that differs or is in only one dump.
    ///
    /// `journal` is a store that was built by replaying the journal.
    func compare(_ store: Store, _ journal: Store) throws -> [String] {
        try write(journal)
        let expected = DumpLines(try files.open(path, .read))
        var next = try expected.next()
        var failure: (any Error)?
        try store.dump { text in
            do {
                guard failure == nil else { return }
                let line = DumpLine(text)
                while let wanted = next, wanted.order < line.order {
                    report("the store lacks \(wanted.text), which a replay of the journal produces")
                    next = try expected.next()
                }
                guard let wanted = next, wanted.order == line.order else {
                    return report(
                        "the store has \(line.text), which a replay of the journal does not produce"
                    )
                }
                if wanted.text != line.text {
                    report(
                        "the store has \(line.text), but a replay of the journal produces \(wanted.text)"
                    )
                }
                next = try expected.next()
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        while let wanted = next {
            report("the store lacks \(wanted.text), which a replay of the journal produces")
            next = try expected.next()
        }
        let rest = found - reported.count
        return rest > 0
            ? reported + ["\(Quantity.count(rest, "more line")) of the dumps differ"] : reported
    }

    private func report(_ sentence: String) {
        found += 1
        if reported.count < Self.reportedLineLimit { reported.append(sentence) }
    }

    private func write(_ store: Store) throws {
        let file = try files.open(path, .createNew)
        defer { file.close() }
        var (bytes, offset) = ([UInt8](), UInt64(0))
        var failure: IOError?
        func flush() {
            do throws(IOError) {
                if failure == nil { try file.write(bytes, at: offset) }
            } catch {
                failure = error
            }
            offset += UInt64(bytes.count)
            bytes.removeAll(keepingCapacity: true)
        }
        try store.dump { line in
            bytes.put(line, "\n")
            if bytes.count >= 1 << 16 { flush() }
        }
        flush()
        if let failure { throw failure }
    }
}

/// A line of a dump, with its sort key in the dump's order.
struct DumpLine {
    private static let kinds = ["position", "model", "row", "link", "unique", "blob"]
    private let full: String
    /// The sort key of the line.
    let order: Order

    /// The order of a dump: by table, then by the bytes of the key.
    struct Order: Comparable {
        var table: Int
        var key: String

        static func < (one: Order, other: Order) -> Bool {
            (one.table, one.key) < (other.table, other.key)
        }
    }

    init(_ text: String) {
        full = text
        let words = text.split(separator: " ", maxSplits: 2)
        let table = Self.kinds.firstIndex(of: words.first.map(String.init) ?? "") ?? 0
        // A dump has a single line for the position and a single line for the model.
        order = Order(table: table, key: table < 2 || words.count < 2 ? "" : String(words[1]))
    }

    /// The line; if it has more than 100 bytes, its first 99 characters and an ellipsis.
    var text: String { full.utf8.count > 100 ? full.prefix(99) + "…" : full }
}

/// Reads the lines of a file.
private final class DumpLines {
    private let file: any File
    private var offset: UInt64 = 0
    private var bytes: [UInt8] = []
    private var start = 0

    init(_ file: any File) { self.file = file }

    func next() throws(IOError) -> DumpLine? {
        while true {
            if let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { start = end + 1 }
                return DumpLine(String(decoding: bytes[start..<end], as: UTF8.self))
            }
            bytes.removeSubrange(..<start)
            start = 0
            let more = try file.read(count: 1 << 16, at: offset)
            guard !more.isEmpty else { return nil }
            offset += UInt64(more.count)
            bytes += more
        }
    }
}

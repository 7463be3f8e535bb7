import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The files of a store's directory, and what each of them holds.
struct DiskUsage {
    /// What there is in such a directory.
    enum Kind: String, CaseIterable {
        /// A segment of the journal.
        case journal
        /// The index of a segment.
        case index
        /// The next segment, made ahead.
        case spare
        /// A copy of what a recovery cut off.
        case copy
        /// LMDB's files.
        case store
        /// What something that did not end left behind, and can be removed.
        case leftover
        /// Anything else.
        case other
    }

    /// A file.
    struct File {
        var kind: Kind
        /// The path below the directory.
        var name: String
        var bytes: UInt64
        /// What it holds, for people.
        var holds: String
        /// The positions in a segment.
        var positions: (first: UInt64, last: UInt64)?
    }

    private(set) var files: [File] = []
    /// How many segments can't be read from their beginnings on.
    private(set) var damaged = 0

    /// Looks at every file; throws ``CommandFailure`` where the directory can't be read or holds no store.
    init(_ folder: StoreFolder) throws {
        let system = RealFileSystem()
        try StoreFolder.checkAccess(folder.path)
        guard system.exists(folder.path) else {
            throw CommandFailure("there is no directory \(folder.path)")
        }
        try mapped {
            let segments = try JournalFolder(folder.journal).segments()
            try walk(folder, "", system, segments)
        }
        guard files.contains(where: { [.journal, .store].contains($0.kind) }) else {
            throw CommandFailure(
                "there is neither store nor journal in \(folder.path); -D takes the directory of "
                    + "a store")
        }
    }

    /// The bytes of all files of a kind, or of all.
    func bytes(_ kind: Kind? = nil) -> UInt64 {
        files.reduce(0) { sum, file in
            kind == nil || kind == file.kind ? sum + file.bytes : sum
        }
    }

    private mutating func walk(
        _ folder: StoreFolder, _ below: String, _ system: RealFileSystem,
        _ segments: [(first: UInt64, name: String)]
    ) throws {
        for name in try system.list(folder.path + "/" + below) {
            let path = below.isEmpty ? name : "\(below)/\(name)"
            // What is no directory has no names in it.
            if (try? system.list(folder.path + "/" + path)) != nil {
                try walk(folder, path, system, segments)
                continue
            }
            guard let bytes = try? system.open(folder.path + "/" + path, .read).size() else {
                continue
            }
            let (kind, holds) = Self.kind(of: path)
            var file = File(kind: kind, name: path, bytes: bytes, holds: holds)
            if kind == .journal { try describe(&file, name, folder, segments) }
            if path == "store/data.mdb" { file.holds = try Self.content(of: folder) }
            files.append(file)
        }
    }

    /// What a name stands for, and what is said of it where the name tells all.
    static func kind(of path: String) -> (kind: Kind, holds: String) {
        let parts = path.split(separator: "/").map(String.init)
        let (folder, name) = (parts.dropLast().joined(separator: "/"), parts.last ?? "")
        switch (folder, name) {
        case ("journal", _) where name.hasSuffix(".journal"): return (.journal, "")
        case ("journal", _) where name.hasSuffix(".index"):
            return (.index, "where to find what in the segment of that name")
        case ("journal", "index.new"): return (.index, "an index while it is made")
        case ("journal", "spare.new"): return (.spare, "room for the next segment")
        case ("journal", _) where name.hasSuffix(".torn"):
            return (.copy, "a copy of a batch that was cut off at a start")
        case ("store", "data.mdb"): return (.store, "")
        case ("store", "lock.mdb"): return (.store, "who reads the store")
        case ("store.rebuilding", _): return (.leftover, "a rebuild that did not end")
        case ("store/new", _): return (.leftover, "a store that was not made")
        case ("journal", "oldest"): return (.other, "the oldest position that was not removed")
        case ("journal", "relaxed"): return (.other, "says that the journal is kept relaxed")
        case (_, "lock"): return (.other, "who has it open")
        default: return (.other, "")
        }
    }

    /// The positions in a segment: up to where the next one begins, or the last one's batches end.
    private mutating func describe(
        _ file: inout File, _ name: String, _ folder: StoreFolder,
        _ segments: [(first: UInt64, name: String)]
    ) throws {
        guard let index = segments.firstIndex(where: { $0.name == name }) else { return }
        let first = segments[index].first
        let last =
            index + 1 < segments.count
            ? segments[index + 1].first - 1 : try JournalFolder(folder.journal).last() ?? first - 1
        file.positions = (first, last)
        let gap = try JournalFolder(folder.journal).damagedBeginnings().first { $0.first == first }
        if let gap = gap?.gap {
            damaged += 1
            file.holds = "damaged: offset \(gap.offset): \(gap.reason)"
            return
        }
        file.holds = last < first ? "nothing yet" : "positions \(first) to \(last)"
    }

    private static func content(of folder: StoreFolder) throws -> String {
        guard let store = try? Store.openForReading(path: folder.store) else {
            return "can't be read"
        }
        defer { store.close() }
        let used = ByteText.text(UInt64(clamping: store.usedBytes))
        return "all at position \(store.appliedPosition), \(used) in use"
    }
}

import Tandem
import TandemIO
import TandemJournal
import TandemStore

/// The files of a store's directory, with sizes and descriptions.
struct DiskUsage {
    /// The kinds of files in a store's directory.
    enum Kind: String, CaseIterable {
        /// A segment of the journal.
        case journal
        /// The index of a segment.
        case index
        /// The next segment, created in advance.
        case spare
        /// A copy of the torn tail that a recovery cut off.
        case copy
        /// An LMDB file.
        case store
        /// A file that an interrupted operation left behind; it can be removed.
        case leftover
        /// Any other file.
        case other
    }

    /// A file.
    struct File {
        var kind: Kind
        /// The path relative to the directory.
        var name: String
        var bytes: UInt64
        /// A human-readable description of the content.
        var holds: String
        /// The positions in a segment.
        var positions: (first: UInt64, last: UInt64)?
    }

    private(set) var files: [File] = []
    /// The number of segments that are unreadable from the start.
    private(set) var damaged = 0

    /// Reads the sizes of all files.
    ///
    /// Throws ``CommandFailure`` if the directory can't be read or has neither store nor journal.
    init(_ folder: StoreFolder) throws {
        let system = RealFileSystem()
        try folder.checkExists()
        try mapped {
            try walk(folder, "", system, try Segments(JournalFolder(folder.journal)))
        }
        guard files.contains(where: { [.journal, .store].contains($0.kind) }) else {
            throw CommandFailure(
                "there is neither store nor journal in \(folder.path); -D takes the directory of "
                    + "a store")
        }
    }

    /// Returns the total size in bytes of the files of a kind, or of all files.
    func bytes(_ kind: Kind? = nil) -> UInt64 {
        files.reduce(0) { sum, file in
            kind == nil || kind == file.kind ? sum + file.bytes : sum
        }
    }

    private mutating func walk(
        _ folder: StoreFolder, _ below: String, _ system: RealFileSystem, _ segments: Segments
    ) throws {
        for name in try system.list(folder.path + "/" + below) {
            let path = below.isEmpty ? name : "\(below)/\(name)"
            // Only a directory can be listed.
            if (try? system.list(folder.path + "/" + path)) != nil {
                try walk(folder, path, system, segments)
                continue
            }
            guard let bytes = try? system.open(folder.path + "/" + path, .read).size() else {
                continue
            }
            let (kind, holds) = Self.kind(of: path)
            var file = File(kind: kind, name: path, bytes: bytes, holds: holds)
            if kind == .journal { describe(&file, name, segments) }
            if path == "store/data.mdb" { file.holds = try Self.content(of: folder) }
            files.append(file)
        }
    }

    /// Returns the kind of a file, and its description if that follows from the path.
    static func kind(of path: String) -> (kind: Kind, holds: String) {
        let parts = path.split(separator: "/").map(String.init)
        let (folder, name) = (parts.dropLast().joined(separator: "/"), parts.last ?? "")
        switch (folder, name) {
        case ("journal", _) where name.hasSuffix(".journal"): return (.journal, "")
        case ("journal", _) where name.hasSuffix(".index"):
            return (.index, "the index of the segment with the same name")
        case ("journal", "index.new"): return (.index, "an unfinished index")
        case ("journal", "spare.new"): return (.spare, "space for the next segment")
        case ("journal", _) where name.hasSuffix(".torn"):
            return (.copy, "a copy of a torn batch that a recovery removed")
        case ("store", "data.mdb"): return (.store, "")
        case ("store", "lock.mdb"): return (.store, "the store's reader table")
        case ("store.rebuilding", _): return (.leftover, "an unfinished rebuild")
        case ("store/new", _): return (.leftover, "an unfinished new store")
        case ("journal", "oldest"): return (.other, "the oldest position in the journal")
        case ("journal", "relaxed"): return (.other, "the mark of durability relaxed")
        case (_, "lock"): return (.other, "the lock of the process that uses the directory")
        default: return (.other, "")
        }
    }

    /// The segments of the journal, which are read only once.
    private struct Segments {
        private var positions: [String: (first: UInt64, last: UInt64)] = [:]
        private var gaps: [UInt64: JournalReader.Gap] = [:]

        init(_ journal: JournalFolder) throws {
            let segments = try journal.segments()
            for (at, segment) in segments.enumerated() {
                // A segment ends before the next one; the last one ends with its last batch.
                let last =
                    at + 1 < segments.count
                    ? segments[at + 1].first - 1 : try journal.last() ?? segment.first - 1
                positions[segment.name] = (segment.first, last)
            }
            for (first, gap) in try journal.damagedBeginnings() { gaps[first] = gap }
        }

        /// Returns the positions of a segment, and the gap at its beginning if that is unreadable.
        func segment(
            _ name: String
        ) -> (positions: (first: UInt64, last: UInt64), gap: JournalReader.Gap?)? {
            positions[name].map { ($0, gaps[$0.first]) }
        }
    }

    /// Sets the positions and the description of a segment.
    private mutating func describe(_ file: inout File, _ name: String, _ segments: Segments) {
        guard let (positions, gap) = segments.segment(name) else { return }
        file.positions = positions
        let (first, last) = positions
        if let gap {
            damaged += 1
            file.holds = "damaged at offset \(gap.offset): \(gap.reason)"
            return
        }
        file.holds = last < first ? "no positions" : "positions \(first) to \(last)"
    }

    private static func content(of folder: StoreFolder) throws -> String {
        guard let store = try? Store.openForReading(path: folder.store) else {
            return "cannot be read"
        }
        defer { store.close() }
        let used = ByteText.text(UInt64(clamping: store.usedBytes))
        return "position \(store.appliedPosition), \(used) in use"
    }
}

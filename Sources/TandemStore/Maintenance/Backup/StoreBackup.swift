package import TandemIO
import TandemModel

/// Makes backups of a store and its journal, and verifies them.
///
/// A backup is a directory with a compact copy of a checkpoint, `store/data.mdb`, and the segments
/// after it, `journal/`. The `manifest.json`, written last, contains the positions and a hash of
/// every file. A backup is made under a temporary name next to the final one and then renamed, so a
/// directory with the final name is complete.
///
///     let store = try Store.openForReading(path: "/var/lib/tandem/default/store")
///     let manifest = try StoreBackup.make(of: store, at: "/backup/monday") {
///         after, folder in …
///     }
package enum StoreBackup {
    /// The phases of a backup, in order; the journal is copied after the first phase.
    package enum Phase: CaseIterable, Sendable {
        /// The store is copied; progress in bytes.
        case copying
        /// The copy is checked; progress in keys.
        case checking
        /// The dump of the copy is hashed; progress in keys.
        case hashing
        /// All files are hashed; progress in bytes.
        case reading
    }

    /// The suffix of an unfinished backup's temporary name.
    static let suffix = ".unfinished"
    /// The maximum number of attempts; an attempt fails if segments after the copied position are
    /// removed while it runs.
    static let attempts = 5

    /// Makes a backup at a path that must not exist.
    ///
    /// `journal` receives the position of the copied store and a folder. It must copy the segments
    /// with later transactions into the folder, flush each of them, and return the last position in
    /// them. If it returns nil because the journal no longer has these transactions, a newer
    /// checkpoint is copied, at most five times in all.
    ///
    /// `progress` is called with the progress of each phase. The store may be open for reading
    /// while the daemon continues to save. Throws ``StoreError``, ``IOError`` and the errors of
    /// `journal`, after removing all files. Cost: reads the store, and the copy three times: to
    /// check it, to hash its dump and to hash its file.
    package static func make(
        of store: Store, at path: String, files: RealFileSystem = RealFileSystem(),
        progress: @escaping (_ phase: Phase, _ done: UInt64, _ total: UInt64) -> Void = {
            _, _, _ in
        },
        journal: (_ after: UInt64, _ folder: String) throws -> UInt64?
    ) throws -> BackupManifest {
        guard !files.exists(path) else {
            throw StoreError(.notOurs, "\(path) exists; choose a new directory for the backup")
        }
        let draft = path + suffix
        try removeLeftover(draft, ["journal", "store", BackupManifest.fileName], files)
        do {
            let last = try copy(store, draft, files, progress, journal)
            let manifest = try describe(draft, last, files, progress)
            try write(manifest, draft, files)
            try files.rename(draft, to: path)
            try files.syncDirectory(parent(of: path))
            return manifest
        } catch {
            try? files.removeTree(draft)
            throw error
        }
    }

    /// Removes the directory `draft` that an interrupted attempt left.
    ///
    /// Throws `notOurs` if the parent directory is missing, or if `draft` has files other than the
    /// `known` ones.
    package static func removeLeftover(
        _ draft: String, _ known: Set<String>, _ files: RealFileSystem
    ) throws {
        let parent = parent(of: draft)
        guard files.isDirectory(parent) else {
            throw StoreError(.notOurs, "there is no directory \(parent); create it first")
        }
        guard files.exists(draft) else { return }
        guard files.isDirectory(draft), try known.isSuperset(of: files.list(draft)) else {
            throw StoreError(
                .notOurs,
                "\(draft), the name of an unfinished backup, has other files; move the directory away"
            )
        }
        try files.removeTree(draft)
    }

    /// Copies a checkpoint, and immediately afterwards the segments after it; returns the last
    /// position.
    private static func copy(
        _ store: Store, _ draft: String, _ files: RealFileSystem,
        _ progress: (_ phase: Phase, _ done: UInt64, _ total: UInt64) -> Void,
        _ journal: (_ after: UInt64, _ folder: String) throws -> UInt64?
    ) throws -> UInt64 {
        for _ in 0..<attempts {
            for folder in ["store", "journal"] {
                try files.removeTree("\(draft)/\(folder)")
                try files.createDirectory("\(draft)/\(folder)", mode: 0o700)
            }
            try store.copyCheckpoint(to: draft + "/store/data.mdb") { progress(.copying, $0, $1) }
            if let last = try journal(try position(of: draft), draft + "/journal") { return last }
        }
        throw StoreError(
            .failed,
            "the journal's oldest segments were removed while each of \(attempts) copies of the store was made; "
                + "run the command again, or keep more of the journal (`journal.keepBytes`)")
    }

    private static func position(of draft: String) throws(StoreError) -> UInt64 {
        let copy = try Store.openForReading(path: draft + "/store", isPrivate: true)
        defer { copy.close() }
        return copy.appliedPosition
    }

    private static func describe(
        _ draft: String, _ last: UInt64, _ files: RealFileSystem,
        _ progress: @escaping (_ phase: Phase, _ done: UInt64, _ total: UInt64) -> Void
    ) throws -> BackupManifest {
        let copy = try Store.openForReading(path: draft + "/store", isPrivate: true)
        defer { copy.close() }
        let report = try copy.check { progress(.checking, $0, $1) }
        guard report.isClean else {
            throw StoreError(
                .damaged,
                "the store has \(report.found) faults, the first: \(report.findings[0]); "
                    + "run `tandem check` before a backup")
        }
        guard last >= copy.appliedPosition else {
            throw StoreError(
                .damaged,
                "the journal ends at position \(last), but the store is at position "
                    + "\(copy.appliedPosition): transactions are missing; see `tandem verify`")
        }
        return BackupManifest(
            identity: copy.identity, position: copy.appliedPosition, last: last,
            stateHash: try copy.stateHash { progress(.hashing, $0, $1) },
            files: try listing(draft, files) { progress(.reading, $0, $1) })
    }

    private static func listing(
        _ draft: String, _ files: RealFileSystem,
        _ progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(IOError) -> [BackupManifest.File] {
        var names: [String] = []
        for folder in ["journal", "store"] {
            names += try files.list("\(draft)/\(folder)").map { "\(folder)/\($0)" }
        }
        var total: UInt64 = 0
        for name in names { total += try files.open("\(draft)/\(name)", .read).size() }
        var (found, done): ([BackupManifest.File], UInt64) = ([], 0)
        for name in names {
            let (bytes, hash) = try FileCopy.hash(of: "\(draft)/\(name)", files) {
                done += $0
                progress(done, total)
            }
            found.append(BackupManifest.File(name: name, bytes: bytes, hash: hash))
        }
        return found
    }

    private static func write(
        _ manifest: BackupManifest, _ draft: String, _ files: RealFileSystem
    ) throws(IOError) {
        for folder in ["journal", "store"] { try files.syncDirectory("\(draft)/\(folder)") }
        let file = try files.open("\(draft)/\(BackupManifest.fileName)", .createNew)
        defer { file.close() }
        try file.write(Array(manifest.text.utf8), at: 0)
        try file.sync()
        try files.syncDirectory(draft)
    }

    /// Reads a backup's manifest and compares every file with it.
    ///
    /// Throws ``StoreError``: `notOurs` if there is no backup, or `damaged`, with the file's name,
    /// if a file is missing, truncated or altered. Throws ``IOError`` if the directory doesn't
    /// exist or can't be read. Calls `progress` with the number of bytes read. Cost: reads
    /// everything.
    package static func verify(
        _ path: String, files: RealFileSystem = RealFileSystem(),
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws -> BackupManifest {
        let manifestPath = "\(path)/\(BackupManifest.fileName)"
        // `exists` returns false for a directory that this user may not search.
        guard try files.list(path).contains(BackupManifest.fileName) else {
            throw StoreError(
                .notOurs, "there is no backup in \(path): it has no \(BackupManifest.fileName)")
        }
        let text = try files.contents(of: manifestPath, maximumBytes: 16 << 20)
        let manifest = try BackupManifest(
            parsing: String(decoding: text, as: UTF8.self), path: manifestPath)
        var done: UInt64 = 0
        for file in manifest.files {
            try compare(file, path, files) {
                done += $0
                progress(done, manifest.bytes)
            }
        }
        return manifest
    }

    private static func compare(
        _ file: BackupManifest.File, _ path: String, _ files: RealFileSystem,
        done: (UInt64) -> Void
    ) throws {
        let name = "\(path)/\(file.name)"
        guard files.exists(name) else {
            throw StoreError(.damaged, "\(name) is missing; use another backup")
        }
        let (bytes, hash) = try FileCopy.hash(of: name, files, done: done)
        guard bytes == file.bytes else {
            throw StoreError(
                .damaged,
                "\(name) has \(bytes) bytes, but was written with \(file.bytes); use another backup"
            )
        }
        guard hash == file.hash else {
            throw StoreError(
                .damaged,
                "\(name) was changed after the backup: its hash does not match; use another backup")
        }
    }

    /// Returns the parent directory of a path.
    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

import Glibc

/// An in-memory file system that simulates power cuts, for tests.
///
/// Every file has volatile content, which reads return, and durable content, which
/// ``crash(seed:severity:)`` restores. Writes since the last `sync` may survive a crash completely,
/// partly (by sectors of 512 bytes, in any order) or not at all. Of the name changes since the last
/// `syncDirectory`, those up to a random point survive. All changes are recorded in ``operations``,
/// and ``image(after:)`` rebuilds the state after any of them, so a test can crash at each one.
public final class SimulatedFileSystem: FileSystem {
    /// A change of the simulated disk.
    public enum Operation: Hashable, Sendable {
        /// A file was created.
        case create(String)
        /// Bytes were written at an offset; fewer than requested if the write failed.
        case write(String, offset: Int, bytes: [UInt8])
        /// A file was truncated or extended.
        case truncate(String, size: Int)
        /// A file was synced.
        case sync(String)
        /// A sync of a file failed: its pages are marked as clean, but are not durable.
        case failedSync(String)
        /// A file was renamed.
        case rename(String, to: String)
        /// A name was removed.
        case remove(String)
        /// A directory was created.
        case createDirectory(String)
        /// A directory was synced.
        case syncDirectory(String)
    }

    /// The unit of torn writes, in bytes.
    public static let sectorBytes = 512

    /// The recorded operations, in order.
    public private(set) var operations: [Operation] = []
    /// Whether operations are recorded; true by default.
    public var recordsOperations = true
    /// The total capacity for file contents, in bytes; writes beyond it throw `ENOSPC`.
    ///
    /// Nil means no limit.
    public var capacityBytes: Int?
    /// The opens, writes and syncs that will fail.
    public var faults = SimulatedFaults()

    /// The visible names.
    var names: [String: SimulatedNode] = [:]
    /// The names that survive a crash; `pendingNames` has the changes since.
    var durableNames: [String: SimulatedNode] = [:]
    var pendingNames: [(directory: String, change: NameChange)] = []
    var directories: Set<String> = ["/", "."]
    /// The number of crashes; files opened in an earlier generation are invalid.
    var generation = 0
    private var locked: Set<String> = []

    enum NameChange {
        case put(String, SimulatedNode)
        case take(String)
        case move(String, String)
    }

    /// Creates an empty file system with the directories "/" and ".".
    public init() {}

    /// Opens a file.
    public func open(_ path: String, _ mode: OpenMode) throws(IOError) -> any File {
        if let number = faults.nextOpen() { throw IOError(.open, path, errno: number) }
        if let node = names[path] {
            guard mode != .createNew else { throw IOError(.open, path, errno: EEXIST) }
            return SimulatedFile(node: node, path: path, owner: self, writable: mode != .read)
        }
        guard mode == .createNew || mode == .createIfMissing else {
            throw IOError(.open, path, errno: ENOENT)
        }
        guard directories.contains(directoryName(of: path)) else {
            throw IOError(.open, path, errno: ENOENT)
        }
        let node = SimulatedNode()
        record(.create(path))
        change(path, .put(path, node))
        return SimulatedFile(node: node, path: path, owner: self, writable: true)
    }

    /// Renames a file within one directory, replacing any file at the new name.
    public func rename(_ old: String, to new: String) throws(IOError) {
        guard names[old] != nil else { throw IOError(.rename, old, errno: ENOENT) }
        guard directoryName(of: old) == directoryName(of: new) else {
            throw IOError(.rename, old, errno: EXDEV)
        }
        record(.rename(old, to: new))
        change(old, .move(old, new))
    }

    /// Removes a file's name.
    public func remove(_ path: String) throws(IOError) {
        guard names[path] != nil else { throw IOError(.remove, path, errno: ENOENT) }
        record(.remove(path))
        change(path, .take(path))
    }

    /// Creates a directory and its missing parents; directories survive every crash.
    public func createDirectory(_ path: String, mode: UInt32) throws(IOError) {
        guard !directories.contains(path) else { return }
        record(.createDirectory(path))
        var directory = path
        while directories.insert(directory).inserted { directory = directoryName(of: directory) }
    }

    /// Makes the names in a directory durable.
    public func syncDirectory(_ path: String) throws(IOError) {
        if let number = faults.nextSync() { throw IOError(.syncDirectory, path, errno: number) }
        if faults.ignoresDirectorySyncs { return }
        record(.syncDirectory(path))
        for entry in pendingNames where entry.directory == path {
            Self.apply(entry.change, to: &durableNames)
        }
        pendingNames.removeAll { $0.directory == path }
    }

    /// Returns the names in a directory, sorted.
    public func list(_ directory: String) throws(IOError) -> [String] {
        guard directories.contains(directory) else {
            throw IOError(.list, directory, errno: ENOENT)
        }
        let prefix = directory == "/" ? "/" : directory + "/"
        return names.keys.filter { directoryName(of: $0) == directory }
            .map { $0.hasPrefix(prefix) ? String($0.dropFirst(prefix.count)) : $0 }.sorted()
    }

    /// Whether a file or directory exists at the path.
    public func exists(_ path: String) -> Bool {
        names[path] != nil || directories.contains(path)
    }

    /// Acquires a lock that lasts until it is released or the file system crashes.
    public func lock(_ path: String) throws(IOError) -> any FileLock {
        guard locked.insert(path).inserted else {
            throw IOError(.lock, path, errno: EWOULDBLOCK, detail: "the lock is held by this test")
        }
        return SimulatedLock(path: path, owner: self)
    }

    func unlock(_ path: String, _ held: Int) {
        if held == generation { locked.remove(path) }
    }

    func forgetLocks() { locked = [] }

    func record(_ operation: Operation) {
        if recordsOperations { operations.append(operation) }
    }

    /// The total size of all files, in bytes.
    public var usedBytes: Int { names.values.reduce(0) { $0 + $1.content.count } }

    private func change(_ path: String, _ change: NameChange) {
        Self.apply(change, to: &names)
        pendingNames.append((directoryName(of: path), change))
    }

    static func apply(_ change: NameChange, to names: inout [String: SimulatedNode]) {
        switch change {
        case .put(let path, let node): names[path] = node
        case .take(let path): names[path] = nil
        case .move(let old, let new):
            if let node = names.removeValue(forKey: old) { names[new] = node }
        }
    }
}

/// The opens, writes and syncs of a ``SimulatedFileSystem`` that fail.
public struct SimulatedFaults: Sendable {
    /// The number of writes up to the one that fails: 1 if the next write fails, nil if none does.
    ///
    /// Each write decrements it; the failing write resets it to nil.
    public var writesUntilFailure: Int?
    /// The error of a failing write.
    public var writeErrno: Int32 = 5
    /// The number of bytes written before the write fails.
    public var bytesKept = 0
    /// The number of syncs of files and directories up to the one that fails: 1 if the next sync
    /// fails, nil if none does.
    ///
    /// Each sync decrements it; the failing sync resets it to nil.
    public var syncsUntilFailure: Int?
    /// The error of a failing sync.
    public var syncErrno: Int32 = 5
    /// Whether syncs of files do nothing, as on a disk that ignores flushes.
    public var ignoresFileSyncs = false
    /// Whether syncs of directories do nothing.
    public var ignoresDirectorySyncs = false
    /// The number of opens up to the one that fails: 1 if the next open fails, nil if none does.
    ///
    /// Each open decrements it; the failing open resets it to nil.
    public var opensUntilFailure: Int?
    /// The error of a failing open.
    public var openErrno: Int32 = 24

    /// Creates a value without faults.
    public init() {}

    mutating func nextWrite() -> Int32? { Self.step(&writesUntilFailure) ? writeErrno : nil }

    mutating func nextOpen() -> Int32? { Self.step(&opensUntilFailure) ? openErrno : nil }

    mutating func nextSync() -> Int32? { Self.step(&syncsUntilFailure) ? syncErrno : nil }

    private static func step(_ counter: inout Int?) -> Bool {
        guard let value = counter else { return false }
        counter = value > 1 ? value - 1 : nil
        return value <= 1
    }
}

/// A lock of the simulated file system.
final class SimulatedLock: FileLock {
    let path: String
    private let owner: SimulatedFileSystem
    private let generation: Int

    init(path: String, owner: SimulatedFileSystem) {
        self.path = path
        self.owner = owner
        generation = owner.generation
    }

    deinit { owner.unlock(path, generation) }
}

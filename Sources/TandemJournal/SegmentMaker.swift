import TandemIO

/// Fills the next segment with zeros before it is needed.
///
/// A write into a file's zeros changes no metadata, so its flush is one write; and a disk that is
/// full shows before a batch is accepted. On the real file system a thread does it.
final class SegmentMaker {
    private enum State {
        case none
        case making(KernelThread, Outcome)
        case ready(bytes: Int)
    }

    /// The thread's result; the mutex is the guard.
    private final class Outcome: Sendable {
        let bytes = Locked<Int?>(nil)
    }

    private static let chunkBytes = 1 << 20
    /// So that the flush of a batch never waits behind a whole segment of zeros.
    private static let syncEveryBytes = 4 << 20

    private let path: String
    private let fileSystem: any FileSystem
    private var state = State.none

    init(directory: String, fileSystem: any FileSystem) {
        path = directory + "/" + JournalDirectory.spareName
        self.fileSystem = fileSystem
    }

    /// Begins to make a spare segment unless one is there.
    ///
    /// Failure shows in `take` only.
    func prepare(bytes: Int) {
        guard case .none = state else { return }
        guard fileSystem is RealFileSystem else {
            if (try? Self.make(path, bytes, fileSystem)) != nil { state = .ready(bytes: bytes) }
            return
        }
        let outcome = Outcome()
        let thread = try? KernelThread.start(name: "journal-spare") { [path] in
            if (try? Self.make(path, bytes, RealFileSystem())) != nil {
                outcome.bytes.withLock { $0 = bytes }
            }
        }
        if let thread { state = .making(thread, outcome) }
    }

    /// The path of a zero-filled, synced file of at least `bytes`, which the caller renames.
    ///
    /// Waits for the thread, or makes the file now.
    func take(bytes: Int) throws(IOError) -> String {
        finish()
        if case .ready(let size) = state, size >= bytes {
            state = .none
            return path
        }
        state = .none
        try Self.make(path, bytes, fileSystem)
        return path
    }

    /// Waits for the thread and removes what nobody took.
    func discard() {
        finish()
        if case .ready = state { try? fileSystem.remove(path) }
        state = .none
    }

    private func finish() {
        guard case .making(let thread, let outcome) = state else { return }
        thread.join()
        let bytes = outcome.bytes.withLock { $0 }
        state = bytes.map { .ready(bytes: $0) } ?? .none
    }

    private static func make(
        _ path: String, _ bytes: Int, _ fileSystem: any FileSystem
    ) throws(IOError) {
        if fileSystem.exists(path) { try fileSystem.remove(path) }
        do throws(IOError) {
            let file = try fileSystem.open(path, .createNew)
            defer { file.close() }
            // A full disk shows here, before a whole segment is written in vain.
            try file.reserve(UInt64(bytes))
            try fill(file, bytes)
        } catch {
            // What was written so far must not take the room that is missing.
            try? fileSystem.remove(path)
            throw error
        }
    }

    private static func fill(_ file: any File, _ bytes: Int) throws(IOError) {
        let zeros = [UInt8](repeating: 0, count: min(bytes, chunkBytes))
        var offset = 0
        while offset < bytes {
            let count = min(zeros.count, bytes - offset)
            try file.write(
                count == zeros.count ? zeros : Array(zeros[..<count]), at: UInt64(offset))
            offset += count
            if offset % syncEveryBytes == 0 { try file.sync() }
        }
        try file.sync()
    }
}

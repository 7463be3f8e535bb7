import TandemIO

/// A file that the thread calling ``run(_:)`` fills with zeros.
///
/// Each chunk is flushed separately, followed by a pause of the same duration. The flush of an
/// append thus waits for at most one chunk. Chunk size and pause were chosen by measuring
/// concurrent appends (`Tests/Benchmarks/run.sh journal`).
final class SegmentFill: Sendable {
    private struct State {
        var isUrgent: Bool
        var isCancelled = false
        var isDone = false
        var failure: IOError?
    }

    private static let chunkBytes = 256 << 10
    /// The longest pause in nanoseconds, even on a slow disk.
    private static let longestPause: UInt64 = 50_000_000

    let path: String
    let bytes: Int
    private let state: Locked<State>

    init(path: String, bytes: Int, isPaced: Bool) {
        self.path = path
        self.bytes = bytes
        state = Locked(State(isUrgent: !isPaced))
    }

    /// Whether `run` has ended.
    var isDone: Bool { state.withLock { $0.isDone } }

    /// The error with which `run` failed; nil if it succeeded.
    var failure: IOError? {
        state.withLock { state in
            assert(state.isDone, "The outcome is known only after the file was filled.")
            return state.failure
        }
    }

    /// Skips all further pauses.
    func hurry() { state.withLock { $0.isUrgent = true } }

    /// Stops at the next chunk and removes the file.
    func cancel() { state.withLock { $0.isCancelled = true } }

    /// Creates the file, durably on return; removes it again on failure.
    func run(_ fileSystem: any FileSystem) {
        var failure: IOError?
        do throws(IOError) {
            if fileSystem.exists(path) { try fileSystem.remove(path) }
            let file = try fileSystem.open(path, .createNew)
            defer { file.close() }
            // Detects a full disk early, before a whole segment is written.
            try file.reserve(UInt64(bytes))
            try fill(file)
        } catch {
            // The incomplete file must not take up the scarce space.
            try? fileSystem.remove(path)
            failure = error
        }
        state.withLock { state in
            assert(!state.isDone, "A file is filled once.")
            state.failure = failure
            state.isDone = true
        }
    }

    private func fill(_ file: any File) throws(IOError) {
        let zeros = [UInt8](repeating: 0, count: min(bytes, Self.chunkBytes))
        let clock = SystemClock()
        var offset = 0
        while offset < bytes {
            let start = clock.monotonicNanoseconds
            let count = min(zeros.count, bytes - offset)
            try file.write(
                count == zeros.count ? zeros : Array(zeros[..<count]), at: UInt64(offset))
            try file.sync()
            offset += count
            if state.withLock({ $0.isCancelled }) { throw cancelled }
            let took = clock.monotonicNanoseconds - start
            if !state.withLock({ $0.isUrgent }) {
                KernelThread.sleep(nanoseconds: min(took, Self.longestPause))
            }
        }
    }

    private var cancelled: IOError {
        IOError(.write, path, errno: 125, detail: "the journal was closed meanwhile")
    }
}

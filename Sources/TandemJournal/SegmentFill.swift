import TandemIO

/// One file being filled with zeros, by whatever thread runs it.
///
/// Each chunk is flushed by itself, and then as much time is left to others as it took: a flush of
/// an append waits for one chunk at most. The chunk and the pause were chosen by measuring appends
/// beside it (`Tests/Benchmarks/run.sh journal`).
final class SegmentFill: Sendable {
    private struct State {
        var isUrgent: Bool
        var isCancelled = false
        var isDone = false
        var failure: IOError?
    }

    private static let chunkBytes = 256 << 10
    /// No pause is longer, however slow the disk is.
    private static let longestPause: UInt64 = 50_000_000

    let path: String
    let bytes: Int
    private let state: Locked<State>

    init(path: String, bytes: Int, isPaced: Bool) {
        self.path = path
        self.bytes = bytes
        state = Locked(State(isUrgent: !isPaced))
    }

    /// Whether `run` has come to its end.
    var isDone: Bool { state.withLock { $0.isDone } }

    /// Why there is no file, once it is done.
    var failure: IOError? { state.withLock { $0.failure } }

    /// Leaves out the pauses from now on.
    func hurry() { state.withLock { $0.isUrgent = true } }

    /// Stops at the next chunk and removes the file.
    func cancel() { state.withLock { $0.isCancelled = true } }

    /// Makes the file, on the disk when done; nothing is left of one that could not be made.
    func run(_ fileSystem: any FileSystem) {
        var failure: IOError?
        do throws(IOError) {
            if fileSystem.exists(path) { try fileSystem.remove(path) }
            let file = try fileSystem.open(path, .createNew)
            defer { file.close() }
            // A full disk shows here, before a whole segment is written in vain.
            try file.reserve(UInt64(bytes))
            try fill(file)
        } catch {
            // What was written so far must not take the room that is missing.
            try? fileSystem.remove(path)
            failure = error
        }
        state.withLock { state in
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

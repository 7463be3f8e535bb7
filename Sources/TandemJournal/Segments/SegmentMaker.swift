import TandemIO

/// Creates the next segment, filled with zeros, before it is needed.
///
/// A write into existing zeros changes no metadata, so its flush is a single write. A full disk is
/// detected before a batch is accepted. On the real file system, a thread creates the file, at a
/// pace that leaves half of the disk's time for appends (see ``SegmentFill``). A failure does not
/// affect the log: the spare is removed and created again later.
final class SegmentMaker {
    private enum State {
        case none
        case making(KernelThread, SegmentFill)
        case ready(bytes: Int)
    }

    /// The number of calls to `prepare` that do nothing after a failure.
    private static let callsBetweenAttempts = 1_024

    private let path: String
    private let fileSystem: any FileSystem
    private var state = State.none
    private var callsToSkip = 0
    /// The reason why a requested spare could not be created; nil if the spare exists or none was
    /// requested.
    private(set) var failure: IOError?

    init(directory: String, fileSystem: any FileSystem) {
        path = directory + "/" + JournalDirectory.spareName
        self.fileSystem = fileSystem
    }

    /// Starts creating a spare segment unless there is one; with `inHaste`, without pauses.
    ///
    /// The call is cheap and made after every append. `failure` and `claim` report failures.
    func prepare(bytes: Int, inHaste: Bool = false) {
        switch state {
        case .ready: return
        case .making(_, let fill):
            if inHaste { fill.hurry() }
            if fill.isDone { join() }
        case .none:
            if callsToSkip > 0 { callsToSkip -= 1 } else { begin(bytes) }
        }
    }

    /// Returns the path of a zero-filled, synced file of at least `bytes`, which the caller
    /// renames.
    ///
    /// Waits for the thread, or creates the file immediately if no thread is running. After a
    /// failure, however, a thread tries again, and the failure is thrown until an attempt
    /// has succeeded.
    func claim(bytes: Int) throws(IOError) -> String {
        join()
        assert(isIdle || failure == nil, "A spare that is ready has no failure.")
        if case .none = state, failure != nil {
            begin(bytes)
            if case .making = state, let failure { throw failure }
        }
        if case .none = state, let failure { throw failure }
        if case .ready(let size) = state, size < bytes {
            try fileSystem.remove(path)
            state = .none
        }
        if case .none = state { try makeNow(bytes) }
        state = .none
        return path
    }

    /// Stops the thread and removes an unused spare.
    func discard() {
        if case .making(_, let fill) = state { fill.cancel() }
        join()
        if case .ready = state { try? fileSystem.remove(path) }
        state = .none
    }

    /// Whether there is neither a spare nor a thread that creates one.
    private var isIdle: Bool { if case .none = state { true } else { false } }

    private func begin(_ bytes: Int) {
        assert(isIdle, "At most one spare exists or is being created.")
        guard fileSystem is RealFileSystem else {
            try? makeNow(bytes)
            return
        }
        let fill = SegmentFill(path: path, bytes: bytes, isPaced: true)
        do throws(IOError) {
            let thread = try KernelThread.start(name: "journal-spare") {
                fill.run(RealFileSystem())
            }
            state = .making(thread, fill)
        } catch {
            record(error)
        }
    }

    private func makeNow(_ bytes: Int) throws(IOError) {
        let fill = SegmentFill(path: path, bytes: bytes, isPaced: false)
        fill.run(fileSystem)
        try accept(fill)
    }

    /// Waits for the thread, if one is running, and records its result.
    private func join() {
        guard case .making(let thread, let fill) = state else { return }
        fill.hurry()
        thread.join()
        state = .none
        try? accept(fill)
    }

    private func accept(_ fill: SegmentFill) throws(IOError) {
        assert(isIdle, "The thread that filled the file has ended.")
        if let error = fill.failure {
            record(error)
            throw error
        }
        failure = nil
        state = .ready(bytes: fill.bytes)
    }

    private func record(_ error: IOError) {
        assert(isIdle, "A failure leaves no spare.")
        failure = error
        callsToSkip = Self.callsBetweenAttempts
    }
}

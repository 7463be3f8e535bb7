import TandemIO

/// Makes the next segment, filled with zeros, before it is needed.
///
/// A write into a file's zeros changes no metadata, so its flush is one write; and a disk that is
/// full shows before a batch is accepted. On the real file system a thread does it at a pace that
/// leaves half of the disk's time to appends (see ``SegmentFill``). A spare that could not be made
/// touched nothing of the log: it is removed and tried again.
final class SegmentMaker {
    private enum State {
        case none
        case making(KernelThread, SegmentFill)
        case ready(bytes: Int)
    }

    /// After a failure so many calls of `prepare` do nothing.
    private static let callsBetweenAttempts = 1_024

    private let path: String
    private let fileSystem: any FileSystem
    private var state = State.none
    private var callsToSkip = 0
    /// Why there is no spare although one was wanted; nil when there is one, or none was wanted.
    private(set) var failure: IOError?

    init(directory: String, fileSystem: any FileSystem) {
        path = directory + "/" + JournalDirectory.spareName
        self.fileSystem = fileSystem
    }

    /// Begins to make a spare segment unless one is there; in haste it keeps no pace.
    ///
    /// Cheap, and meant to be called after every append. A failure shows in `failure` and `take`.
    func prepare(bytes: Int, inHaste: Bool = false) {
        switch state {
        case .ready: return
        case .making(_, let fill):
            if inHaste { fill.hurry() }
            if fill.isDone { settle() }
        case .none:
            if callsToSkip > 0 { callsToSkip -= 1 } else { begin(bytes) }
        }
    }

    /// The path of a zero-filled, synced file of at least `bytes`, which the caller renames.
    ///
    /// Waits for the thread. Without a thread makes the file now, but after a failure it is for the
    /// thread to try again, and the failure is thrown until it has succeeded.
    func take(bytes: Int) throws(IOError) -> String {
        settle()
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

    /// Stops the thread and removes what nobody took.
    func discard() {
        if case .making(_, let fill) = state { fill.cancel() }
        settle()
        if case .ready = state { try? fileSystem.remove(path) }
        state = .none
    }

    private func begin(_ bytes: Int) {
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
            note(error)
        }
    }

    private func makeNow(_ bytes: Int) throws(IOError) {
        let fill = SegmentFill(path: path, bytes: bytes, isPaced: false)
        fill.run(fileSystem)
        try note(fill)
    }

    /// Waits for the thread, if there is one, and takes its result over.
    private func settle() {
        guard case .making(let thread, let fill) = state else { return }
        fill.hurry()
        thread.join()
        state = .none
        try? note(fill)
    }

    private func note(_ fill: SegmentFill) throws(IOError) {
        if let error = fill.failure {
            note(error)
            throw error
        }
        failure = nil
        state = .ready(bytes: fill.bytes)
    }

    private func note(_ error: IOError) {
        failure = error
        callsToSkip = Self.callsBetweenAttempts
    }
}

import DequeModule
import TandemIO

/// The progress of index building.
public struct IndexingState: Hashable, Sendable {
    /// The number of segments still to be checked, including the current one.
    public var waiting = 0
    /// The number of indexes built since the journal was opened.
    public var made = 0
    /// The reason why the last attempt failed; nil if it succeeded.
    public var failure: String?
}

/// Builds an index for every sealed segment that has none, one at a time.
///
/// On the real file system, a thread builds the indexes, and ends when all are complete. Its pauses
/// are as long as its work, and appends never wait for it. On other file systems, the indexes are
/// built immediately. A failure does not affect the journal: the segment is read without an index.
final class SegmentIndexer {
    private let directory: String
    private let fileSystem: any FileSystem
    private let work: IndexWork?
    private var thread: KernelThread?

    init(_ place: JournalLocation) {
        directory = place.directory
        fileSystem = place.fileSystem
        work = place.options.payloadReading.map { IndexWork(place.directory, $0) }
    }

    /// The progress of index building.
    var state: IndexingState { work?.state ?? IndexingState() }

    /// Queues segments, and requeues those whose indexes failed for a reason other than damage.
    func add(_ segments: [JournalSegment]) { begin { $0.add(segments) } }

    /// Queues segments whose indexes are to be rebuilt.
    func renew(_ segments: [JournalSegment]) {
        guard !segments.isEmpty else { return }
        begin { $0.renew(segments) }
    }

    /// Removes the index of a removed segment; if this fails, the next start removes it.
    func drop(_ segment: UInt64) {
        let path = directory + "/" + JournalDirectory.indexName(of: segment)
        if fileSystem.exists(path) { try? fileSystem.remove(path) }
    }

    /// Waits until all queued indexes are built.
    func join() {
        thread?.join()
        thread = nil
    }

    /// Stops the thread.
    func discard() {
        work?.cancel()
        join()
    }

    private func begin(_ change: (IndexWork) -> Bool) {
        guard let work, change(work) else { return }
        guard fileSystem is RealFileSystem else { return work.run(fileSystem, isPaced: false) }
        thread?.join()
        do throws(IOError) {
            thread = try KernelThread.start(name: "journal-index") {
                work.run(RealFileSystem(), isPaced: true)
            }
        } catch {
            work.stopped("\(error)")
        }
    }
}

/// The queue of segments to index and the results, shared by the journal's thread and the index
/// thread.
final class IndexWork: Sendable {
    private struct State {
        var queue: Deque<JournalSegment> = []
        var failed: [JournalSegment] = []
        var isRunning = false
        var isCancelled = false
        var made = 0
        var failure: String?
    }

    /// The longest pause in nanoseconds.
    private static let longestPause: UInt64 = 50_000_000

    private let directory: String
    private let reading: PayloadReading
    private let guarded = Locked(State())

    init(_ directory: String, _ reading: @escaping PayloadReading) {
        self.directory = directory
        self.reading = reading
    }

    var state: IndexingState {
        guarded.withLock { state in
            IndexingState(
                waiting: state.queue.count + state.failed.count + (state.isRunning ? 1 : 0),
                made: state.made, failure: state.failure)
        }
    }

    /// Queues segments; returns true if the caller has to start a thread, because none is running.
    func add(_ segments: [JournalSegment]) -> Bool {
        guarded.withLock { state in
            state.queue += state.failed + segments
            state.failed = []
            return Self.begins(&state)
        }
    }

    /// Queues segments with unusable indexes at the front; returns true if the caller has to start
    /// a thread.
    func renew(_ segments: [JournalSegment]) -> Bool {
        guarded.withLock { state in
            state.queue.insert(contentsOf: segments.filter { !state.queue.contains($0) }, at: 0)
            return Self.begins(&state)
        }
    }

    private static func begins(_ state: inout State) -> Bool {
        guard !state.queue.isEmpty, !state.isRunning, !state.isCancelled else { return false }
        state.isRunning = true
        return true
    }

    /// Records that no thread could be started.
    func stopped(_ problem: String) {
        guarded.withLock { state in
            assert(state.isRunning, "Only the caller that began the work reports its end.")
            (state.isRunning, state.failure) = (false, problem)
        }
    }

    /// Cancels the work at the next pause.
    func cancel() { guarded.withLock { $0.isCancelled = true } }

    /// Builds indexes until the queue is empty.
    func run(_ fileSystem: any FileSystem, isPaced: Bool) {
        while let segment = next() {
            do throws(JournalError) {
                let isMade = try make(segment, fileSystem, isPaced)
                guarded.withLock { state in
                    if isMade { state.made += 1 }
                    state.failure = nil
                }
            } catch {
                record(error, of: segment)
            }
        }
    }

    private func next() -> JournalSegment? {
        guarded.withLock { state in
            assert(
                state.isRunning, "Only the running index thread dequeues segments.")
            guard !state.isCancelled, !state.queue.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.queue.removeFirst()
        }
    }

    /// Records a failure; indexing a damaged segment is not tried again.
    private func record(_ error: JournalError, of segment: JournalSegment) {
        guarded.withLock { state in
            guard error.code != .closed, error.code != .expired else { return }
            state.failure = error.description
            if error.code != .damaged { state.failed.append(segment) }
        }
    }

    /// Builds the index of a segment.
    ///
    /// Returns false if the segment already has a valid index or no longer exists.
    private func make(
        _ segment: JournalSegment, _ fileSystem: any FileSystem, _ isPaced: Bool
    ) throws(JournalError) -> Bool {
        let (first, next) = (segment.first, segment.last + 1)
        // Segments are removed oldest first, so the next segment exists too.
        guard fileSystem.exists(directory + "/" + JournalDirectory.name(of: first)) else {
            return false
        }
        var throttle = BackgroundThrottle(isPaced: isPaced, longestPause: Self.longestPause)
        let rest = { () throws(JournalError) in
            if self.guarded.withLock({ $0.isCancelled }) { throw self.cancelled }
            throttle.rest()
        }
        if isWhole(first, next, fileSystem) {
            try rest()
            return false
        }
        let maker = SegmentIndexMaker(
            directory: directory, fileSystem: fileSystem, reading: reading)
        try maker.write(
            try maker.bytes(of: first, before: next, rest: rest), of: first, rest: rest)
        return true
    }

    /// Whether the segment has an index that is valid up to its last page.
    private func isWhole(_ segment: UInt64, _ next: UInt64, _ fileSystem: any FileSystem) -> Bool {
        guard
            case .usable(let index) = SegmentIndex.find(
                directory, first: segment, before: next, fileSystem)
        else { return false }
        do throws(IndexDamage) {
            try index.readThrough()
            return true
        } catch {
            return false
        }
    }

    private var cancelled: JournalError {
        JournalError(.closed, directory, "the journal is closed", remedy: "Open it again.")
    }
}

/// A throttle whose pauses are as long as the work before them.
struct BackgroundThrottle {
    private let isPaced: Bool
    private let longestPause: UInt64
    private let clock = SystemClock()
    private var start: UInt64

    init(isPaced: Bool, longestPause: UInt64) {
        self.isPaced = isPaced
        self.longestPause = longestPause
        start = clock.monotonicNanoseconds
    }

    /// Pauses for the time since the last pause, up to the longest pause.
    mutating func rest() {
        guard isPaced else { return }
        KernelThread.sleep(nanoseconds: min(clock.monotonicNanoseconds - start, longestPause))
        start = clock.monotonicNanoseconds
    }
}

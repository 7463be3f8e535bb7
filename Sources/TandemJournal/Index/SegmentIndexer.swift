import TandemIO

/// How the making of indexes gets on.
public struct IndexingState: Hashable, Sendable {
    /// Segments that are still to be looked at, the one at work included.
    public var waiting = 0
    /// How many indexes were made since the journal was opened.
    public var made = 0
    /// Why the last attempt did not succeed; nil if it did.
    public var failure: String?
}

/// Has an index made for every sealed segment that has none, one at a time.
///
/// On the real file system a thread does it, which ends when all have one, and rests as long as it worked; appends never wait for
/// it. On another it is done at once. A failure is none of the journal's: the segment is read without.
final class SegmentIndexer {
    private let directory: String
    private let fileSystem: any FileSystem
    private let work: IndexWork?
    private var thread: KernelThread?

    init(_ place: JournalPlace) {
        directory = place.directory
        fileSystem = place.fileSystem
        work = place.options.payloadReading.map { IndexWork(place.directory, $0) }
    }

    /// How it gets on.
    var state: IndexingState { work?.state ?? IndexingState() }

    /// Has these segments looked at, and those again for which there was no room before.
    func add(_ segments: [JournalSegment]) { begin { $0.add(segments) } }

    /// Has the indexes of these segments made anew.
    func renew(_ segments: [JournalSegment]) {
        guard !segments.isEmpty else { return }
        begin { $0.renew(segments) }
    }

    /// Removes the index of a segment, which is removed already: should this fail, the next start does it.
    func drop(_ segment: UInt64) {
        let path = directory + "/" + JournalDirectory.indexName(of: segment)
        if fileSystem.exists(path) { try? fileSystem.remove(path) }
    }

    /// Waits until all are made.
    func settle() {
        thread?.join()
        thread = nil
    }

    /// Stops the thread.
    func discard() {
        work?.cancel()
        settle()
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

/// The segments that want an index, and what came of them; on the thread of the journal and that of the maker.
final class IndexWork: Sendable {
    private struct State {
        var queue: [JournalSegment] = []
        var failed: [JournalSegment] = []
        var isRunning = false
        var isCancelled = false
        var made = 0
        var failure: String?
    }

    /// No pause is longer.
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

    /// Adds segments; true if nobody is at work, and the caller has to see to that.
    func add(_ segments: [JournalSegment]) -> Bool {
        guarded.withLock { state in
            state.queue += state.failed + segments
            state.failed = []
            return Self.begins(&state)
        }
    }

    /// The same for segments whose indexes can't be used, first of all.
    func renew(_ segments: [JournalSegment]) -> Bool {
        guarded.withLock { state in
            state.queue = segments.filter { !state.queue.contains($0) } + state.queue
            return Self.begins(&state)
        }
    }

    private static func begins(_ state: inout State) -> Bool {
        guard !state.queue.isEmpty, !state.isRunning, !state.isCancelled else { return false }
        state.isRunning = true
        return true
    }

    /// Says that there is no thread for it.
    func stopped(_ problem: String) {
        guarded.withLock { state in
            (state.isRunning, state.failure) = (false, problem)
        }
    }

    /// Gives up at the next pause.
    func cancel() { guarded.withLock { $0.isCancelled = true } }

    /// Makes indexes until none is wanted.
    func run(_ fileSystem: any FileSystem, isPaced: Bool) {
        while let segment = next() {
            do throws(JournalError) {
                let isMade = try make(segment, fileSystem, isPaced)
                guarded.withLock { state in
                    if isMade { state.made += 1 }
                    state.failure = nil
                }
            } catch {
                note(error, of: segment)
            }
        }
    }

    private func next() -> JournalSegment? {
        guarded.withLock { state in
            guard !state.isCancelled, !state.queue.isEmpty else {
                state.isRunning = false
                return nil
            }
            return state.queue.removeFirst()
        }
    }

    /// What is damaged is not tried again.
    private func note(_ error: JournalError, of segment: JournalSegment) {
        guarded.withLock { state in
            guard error.code != .closed, error.code != .expired else { return }
            state.failure = error.description
            if error.code != .damaged { state.failed.append(segment) }
        }
    }

    /// Makes the index of a segment unless there is one; false if there was, or the segment is gone.
    private func make(
        _ segment: JournalSegment, _ fileSystem: any FileSystem, _ isPaced: Bool
    ) throws(JournalError) -> Bool {
        let (first, next) = (segment.first, segment.last + 1)
        // Segments go oldest first, so what seals one that is there is there too.
        guard fileSystem.exists(directory + "/" + JournalDirectory.name(of: first)) else {
            return false
        }
        var pace = WorkPace(isPaced: isPaced, longestPause: Self.longestPause)
        let rest = { () throws(JournalError) in
            if self.guarded.withLock({ $0.isCancelled }) { throw self.cancelled }
            pace.rest()
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

    /// Whether there is an index that can be used, to its last page.
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

/// Leaves as much time to others as the work took.
struct WorkPace {
    private let isPaced: Bool
    private let longestPause: UInt64
    private let clock = SystemClock()
    private var start: UInt64

    init(isPaced: Bool, longestPause: UInt64) {
        self.isPaced = isPaced
        self.longestPause = longestPause
        start = clock.monotonicNanoseconds
    }

    /// Pauses for as long as it is since the last pause.
    mutating func rest() {
        guard isPaced else { return }
        KernelThread.sleep(nanoseconds: min(clock.monotonicNanoseconds - start, longestPause))
        start = clock.monotonicNanoseconds
    }
}

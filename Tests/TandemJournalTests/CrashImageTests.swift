import TandemIO
import TandemJournal
import TestSupport
import Testing

/// Creates the files that power cuts leave during a run of the journal, and recovers them.
///
/// `TANDEM_IMAGES` is the number of images: 200 by default, 1,000 with `TANDEM_DEEP`. Each image is
/// recovered, crashed again during that recovery, and recovered once more.
@Suite(.ownThread) struct CrashImageTests {
    let images = max(1, Volume.variable("TANDEM_IMAGES", or: 200, deep: 1_000))

    @Test
    func
        `law 3: acknowledged batches survive a crash at any moment, and another one during recovery`()
        throws
    {
        let run = try RecordedRun(seed: seed)
        #expect(run.disk.operations.count > 300)
        let violations = run.violations(images: images, seed: seed)
        #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(5))")
    }

    @Test func `law 3, control: a flush that does nothing is found`() throws {
        var faults = SimulatedFaults()
        faults.ignoresFileSyncs = true
        let violations = try RecordedRun(seed: seed, faults).violations(images: 100, seed: seed)
        #expect(violations.count > 20)
    }

    @Test func `law 3, control: a directory sync that does nothing is found`() throws {
        var faults = SimulatedFaults()
        faults.ignoresDirectorySyncs = true
        let violations = try RecordedRun(seed: seed, faults).violations(images: 100, seed: seed)
        #expect(violations.count > 5)
    }

    @Test func `law 3: logs with relaxed durability keep a prefix without gaps`() throws {
        var options = smallOptions()
        options.durability = .relaxed
        let run = try RecordedRun(seed: seed, options: options)
        let violations = run.violations(images: images / 4, seed: seed)
        #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(5))")
    }
}

/// A run of the journal, with the guarantees in force after each operation of the disk.
struct RecordedRun {
    /// The guarantees in force from an operation on.
    private struct Promise {
        var operations = 0
        /// The last position acknowledged with full durability, or synced.
        var last: UInt64 = 0
        /// The position below which segments were trimmed.
        var trimmed: UInt64 = 1
        var epoch: UInt32 = 0
    }

    let disk = SimulatedFileSystem()
    private let options: JournalOptions
    private var promises = [Promise()]
    private var written: UInt64 = 0

    init(
        seed: UInt64, _ faults: SimulatedFaults = SimulatedFaults(),
        options: JournalOptions = smallOptions()
    ) throws {
        self.options = options
        disk.faults = faults
        var random = SeededGenerator(seed: seed)
        let (journal, _) = try openJournal(disk, options)
        promise(journal)
        for round in 0..<90 {
            let count = Int.random(in: 1...3, using: &random)
            try appendBatch(journal, count, bytes: Int.random(in: 1...1_500, using: &random))
            if round % 30 == 20 { try journal.beginEpoch() }
            if round % 17 == 16 { try journal.sync() }
            if round % 40 == 35 { try trim(journal) }
            promise(journal, isSynced: round % 17 == 16)
        }
        written = journal.bounds.last
    }

    private mutating func trim(_ journal: Journal) throws {
        // Only durable positions may be trimmed.
        try journal.sync()
        let bounds = journal.bounds
        let position = (bounds.first + bounds.last) / 2
        promises[promises.count - 1].trimmed = position
        try journal.trim(below: position)
        promise(journal, isSynced: true, trimmed: position)
    }

    private mutating func promise(
        _ journal: Journal, isSynced: Bool = false, trimmed: UInt64? = nil
    ) {
        var next = promises[promises.count - 1]
        next.operations = disk.operations.count
        if options.durability == .full || isSynced { next.last = journal.bounds.last }
        if let trimmed { next.trimmed = trimmed }
        next.epoch = journal.identity.epoch
        promises.append(next)
    }

    /// Returns the violations found in this number of images, spread over the whole run.
    func violations(images: Int, seed: UInt64) -> [String] {
        var random = SeededGenerator(seed: seed)
        var found: [String] = []
        let state = SimulatedFileSystem()
        state.recordsOperations = false
        var done = 0
        for number in 0..<images {
            let until = number * (disk.operations.count + 1) / images
            while done < until {
                state.replay(disk.operations[done])
                done += 1
            }
            let image = state.copy()
            let severity: CrashSeverity =
                number % 5 == 0 ? .losesAll : number % 5 == 1 ? .keepsAll : .tears
            image.crash(seed: random.next(), severity: severity)
            if let problem = problem(of: image, after: done, &random) {
                found.append("image \(number), after operation \(done): \(problem)")
            }
        }
        return found
    }

    /// Recovers an image, and once more after a crash during that recovery.
    private func problem(
        of image: SimulatedFileSystem, after done: Int, _ random: inout SeededGenerator
    ) -> String? {
        let again = image.copy()
        if let problem = recover(image, after: done) { return problem }
        let step = Int.random(in: 0...image.operations.count, using: &random)
        for operation in image.operations.prefix(step) { again.replay(operation) }
        again.crash(seed: random.next())
        return recover(again, after: done).map { "after a crash at step \(step): \($0)" }
    }

    /// Opens the journal, and compares its content with the guarantees.
    private func recover(_ disk: SimulatedFileSystem, after done: Int) -> String? {
        guard let promise = promises.last(where: { $0.operations <= done }) else { return nil }
        let upcoming = promises.first { $0.operations > done } ?? promise
        do {
            let (journal, report) = try openJournal(disk, options, applied: promise.last)
            let bounds = journal.bounds
            if bounds.last < promise.last { return "\(promise.last) was lost: \(bounds)" }
            if bounds.last > written { return "\(bounds.last) was never written" }
            if bounds.first > max(promise.trimmed, upcoming.trimmed) { return "too much trimmed" }
            if journal.identity.epoch < promise.epoch { return "the epoch fell" }
            let found = try entries(journal, from: bounds.first)
            guard found.map(\.position) == Array(bounds.first..<bounds.last + 1) else {
                return "positions \(found.map(\.position)), bounds \(bounds)"
            }
            let isWhole = found.allSatisfy {
                $0.payload == payload($0.position, bytes: $0.payload.count)
            }
            if !isWhole { return "bytes differ from those written" }
            return report.bounds == bounds ? nil : "the report says \(report.bounds)"
        } catch {
            return "\(error)"
        }
    }
}

import Glibc
import TandemIO
import TandemJournal

/// The costs of a journal besides its appends: opening it, and creating the next segment.
struct JournalBenchmark {
    private static let rounds = 5
    private let folder: String
    private let bytes: Int

    /// Creates the benchmark for a journal of `n` MiB in a folder.
    init(folder: String, n: Int) {
        self.folder = folder
        bytes = n << 20
    }

    func run() throws {
        try opening()
        try filling()
    }

    private func open(
        _ name: String, _ verification: JournalOptions.Verification = .tail
    ) throws -> Journal {
        var options = JournalOptions()
        options.durability = .relaxed
        options.verification = verification
        return try Journal.open(
            directory: "\(folder)/\(name)", fileSystem: RealFileSystem(), options: options,
            identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: nil
        ).journal
    }

    private func append(_ count: Int, _ payload: [UInt8], to journal: Journal) throws {
        var batch = BatchBuilder()
        for _ in 0..<count { batch.append(payload) }
        try journal.append(expected: journal.bounds.last, batch: &batch)
    }

    // MARK: Opening

    /// Opens a closed journal whose files are in the page cache, alternately verifying its tail and
    /// the whole journal.
    private func opening() throws {
        let journal = try open("opening")
        let payload = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        let segments = max(1, bytes / JournalOptions().segmentBytes)
        while journal.segments.count < segments { try append(4, payload, to: journal) }
        // The last segment is nearly full, which is the worst case.
        let last = journal.bounds.last
        let ofLast = journal.segments.count > 1 ? journal.segments[0].last : last
        while journal.bounds.last < last + ofLast * 9 / 10 { try append(4, payload, to: journal) }
        try journal.close()
        var values: [JournalOptions.Verification: [Double]] = [:]
        for _ in 0..<Self.rounds {
            for verification in [JournalOptions.Verification.tail, .full] {
                let start = now()
                let opened = try open("opening", verification)
                values[verification, default: []].append(microseconds(from: start, to: now()))
                try opened.close()
            }
        }
        for (verification, name) in [(JournalOptions.Verification.tail, "tail"), (.full, "full")] {
            emit("open, verification \(name)", values[verification] ?? [], values[.tail] ?? [])
        }
        try remove("opening")
    }

    // MARK: The next segment

    /// Measures durable writes of 256 bytes alone, and while a segment is being created,
    /// alternately.
    private func filling() throws {
        var floor = try DiskFloor(folder: folder)
        var alone: [Double] = []
        var beside: [Double] = []
        var making: [Double] = []
        for _ in 0..<Self.rounds {
            let journal = try open("filling")
            let before = threads
            let start = now()
            // More than a quarter of a segment, so that the creation of the next one begins.
            try append(20, [UInt8](repeating: 1, count: 1 << 20), to: journal)
            let mark = floor.microseconds.count
            while threads > before { try floor.measure() }
            making.append(microseconds(from: start, to: now()))
            beside += floor.microseconds[mark...]
            let rest = floor.microseconds.count
            for _ in mark..<rest { try floor.measure() }
            alone += floor.microseconds[rest...]
            try journal.close()
            try remove("filling")
        }
        emit("write and flush, alone", alone, alone)
        emit("write and flush, while a segment is made", beside, alone)
        emit("make a segment", making, alone)
        unlink("\(folder)/disk-floor")
    }

    /// The number of threads of this process, one of which creates the segment.
    private var threads: Int { (try? RealFileSystem().list("/proc/self/task").count) ?? 0 }

    private func remove(_ name: String) throws {
        let files = RealFileSystem()
        let directory = "\(folder)/\(name)"
        for file in try files.list(directory) { try files.remove(directory + "/" + file) }
        rmdir(directory)
    }

    private func emit(_ metric: String, _ values: [Double], _ floor: [Double]) {
        ResultLine(
            scenario: "journal", peer: "tandem", n: bytes >> 20, metric: metric, values: values,
            floor: floor
        ).emit()
    }
}

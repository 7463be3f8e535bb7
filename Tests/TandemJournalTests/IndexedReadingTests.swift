import TandemIO
import TestSupport
import Testing

@testable import TandemJournal

/// Reads with the indexes of sealed segments, compared with full scans.
@Suite(.ownThread) struct IndexedReadingTests {
    private func indexPaths(_ disk: any FileSystem) throws -> [String] {
        try disk.list(directory).filter { $0.hasSuffix(".index") }.map { directory + "/" + $0 }
    }

    /// Whether every sealed segment has exactly the index that its bytes produce, and no other
    /// index exists.
    private func isWhole(_ journal: Journal, _ disk: any FileSystem) throws -> Bool {
        let sealed = journal.segments.dropLast()
        let names = sealed.map { directory + "/" + JournalDirectory.indexName(of: $0.first) }
        guard try indexPaths(disk) == names else { return false }
        let maker = SegmentIndexMaker(
            directory: directory, fileSystem: disk, reading: KeyedLog.keys)
        return try sealed.allSatisfy { segment in
            let bytes = try maker.bytes(of: segment.first, before: segment.last + 1)
            let path = directory + "/" + JournalDirectory.indexName(of: segment.first)
            return try disk.contents(of: path, maximumBytes: 1 << 30) == bytes
        }
    }

    @Test(arguments: 0..<5 as Range<UInt64>)
    func `an index skips only transactions that no query matches`(_ round: UInt64) throws {
        let seed = seed &+ round
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog(segmentBytes: Int.random(in: 6_000...40_000, using: &random))
        try log.fill(segments: 6, &random)
        #expect(try isWhole(log.journal, log.disk))
        for _ in 0..<60 {
            let query = log.query(&random)
            let from = UInt64.random(in: 1...UInt64(log.payloads.count), using: &random)
            let wanted = log.wanted(query, from: from)
            let answer = try found(query, in: log.disk, from: from)
            #expect(answer.positions == wanted, "seed \(seed), from \(from): \(query)")
            #expect(answer.damaged.isEmpty)
        }
    }

    @Test func `an index that can't be checked is a problem, whichever open fails`() throws {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog()
        try log.fill(segments: 2, &random)
        let segments = log.journal.segments
        let check = IndexCheck(directory: directory, fileSystem: log.disk)
        func problem() -> String? {
            check.problem(
                of: segments[0].first, before: segments[1].first, comparing: KeyedLog.keys)
        }
        #expect(problem() == nil)
        var call = 0
        repeat {
            call += 1
            log.disk.faults.opensUntilFailure = call
            let found = problem()
            guard log.disk.faults.opensUntilFailure == nil else { break }
            #expect(found != nil, "open \(call)")
        } while true
        // The index was opened twice, and both segments at least once.
        #expect(call > 4)
    }

    @Test func `the matches in a long journal are read, and little else`() throws {
        var random = SeededGenerator(seed: seed)
        let disk = SimulatedFileSystem()
        disk.recordsOperations = false
        var log = try KeyedLog(disk, segmentBytes: 600_000)
        let plain = PayloadKeys(groups: [1], members: [1, 2], stamp: 1)
        let rare = PayloadKeys(groups: [2], members: [3], stamp: 1)
        while log.journal.segments.count < 6 {
            let isRare = log.payloads.count == 4_000
            try log.append(
                [isRare ? rare : plain], padding: Int.random(in: 150...250, using: &random))
        }
        // Only sealed segments: the last one has to be read in any case.
        let top = try #require(log.journal.segments.last).first - 1
        for query in [IndexQuery(keys: [.member(3)]), IndexQuery(keys: [.group(2)])] {
            let indexed = CountingFileSystem(disk)
            let answer = try found(query, in: indexed, through: top)
            #expect(answer.positions == [4_001] && answer.read == 1)
            let segments = log.journal.segments.count
            // The headers that the indexes are compared with, and one window at the match.
            let headers = 4 * segments * SegmentFormat.headerBytes
            #expect(indexed.bytes(of: ".journal") <= headers + 2 * SegmentFile.readerWindow)
            #expect(indexed.bytes(of: ".index") <= 8 * segments * IndexFormat.pageBytes)
            let scan = CountingFileSystem(disk)
            #expect(
                try found(query, in: scan, through: top, usesIndexes: false).positions
                    == [4_001])
            #expect(scan.bytes(of: ".journal") > 2_000_000)
        }
    }

    /// Returns a log with enough segments to notice a listing per segment.
    private func manySegments() throws -> KeyedLog {
        let disk = SimulatedFileSystem()
        disk.recordsOperations = false
        var log = try KeyedLog(disk)
        let plain = PayloadKeys(groups: [1], members: [1, 2], stamp: 1)
        let rare = PayloadKeys(groups: [2], members: [3], stamp: 1)
        while log.journal.segments.count < 80 {
            try log.append([log.payloads.count % 20 == 10 ? rare : plain], padding: 2_500)
        }
        return log
    }

    @Test func `the directory is listed once per query, however many segments there are`()
        throws
    {
        let log = try manySegments()
        let disk = CountingFileSystem(log.disk)
        let top = try #require(log.journal.segments.last).first - 1
        let query = IndexQuery(keys: [.group(2)])
        let answer = try found(query, in: disk, through: top)
        #expect(answer.positions == log.wanted(query).filter { $0 <= top })
        #expect(answer.positions.count >= 3 && answer.read == answer.positions.count)
        #expect(disk.lists == 1)
        #expect(disk.opens <= 3 * 80 + answer.read)
        // Reading segments causes no further listings either.
        let all = CountingFileSystem(log.disk)
        #expect(try found(IndexQuery(keys: [.group(1)]), in: all, through: top).read > 60)
        #expect(all.lists <= 3)
    }

    @Test func `a journal lists its directory neither per query nor per index`() throws {
        let log = try manySegments()
        let paths = try indexPaths(log.disk)
        try log.journal.close()
        for path in paths { try log.disk.remove(path) }
        let disk = CountingFileSystem(log.disk)
        let (journal, _) = try Journal.open(
            directory: directory, fileSystem: disk, options: KeyedLog.options(),
            identityIfNew: identity, appliedPosition: nil)
        #expect(journal.indexing.made == paths.count && paths.count == 79)
        #expect(disk.lists <= 4)
        let lists = disk.lists
        let indexes = journal.indexes()
        let walk = indexes.walk(IndexQuery(keys: [.group(2)]))
        let cursor = try journal.read(from: 1, indexes)
        var (position, positions) = (UInt64(1), [UInt64]())
        while let next = walk.next(from: position) {
            if next == position {
                cursor.pass(to: position)
                positions.append(try #require(try cursor.next()).position)
            }
            position = max(next, position + 1)
        }
        #expect(position == journal.segments.last?.first && positions.count >= 3)
        #expect(disk.lists == lists)
    }

    @Test func `a missing, truncated, changed or foreign index is treated as absent`()
        throws
    {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog()
        try log.fill(segments: 3, &random)
        let paths = try indexPaths(log.disk)
        let bytes = try #require(log.disk.bytes(of: paths[0]))
        let other = try #require(log.disk.bytes(of: paths[1]))
        let query = IndexQuery(keys: [.group(1), .member(3)])
        let wanted = log.wanted(query)
        func answer(_ content: [UInt8]?) throws -> (positions: [UInt64], damaged: [UInt64]) {
            try log.disk.remove(paths[0])
            if let content { log.disk.install(content, at: paths[0]) }
            defer { if content == nil { log.disk.install(bytes, at: paths[0]) } }
            let answer = try found(query, in: log.disk)
            return (answer.positions, answer.damaged)
        }
        log.disk.recordsOperations = false
        #expect(try answer(nil).positions == wanted)
        // SegmentIndexTests covers every byte; here the entire path is tested with fewer offsets.
        let places = Array(0..<130) + stride(from: 131, to: bytes.count, by: 97)
        for count in places {
            let cut = try answer(Array(bytes[..<count]))
            #expect(cut.positions == wanted && cut.damaged == [1], "cut at \(count)")
        }
        for offset in places + (4_096..<4_200) {
            var changed = bytes
            changed[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(try answer(changed).positions == wanted, "seed \(seed), changed at \(offset)")
        }
        let foreign = try answer(other)
        #expect(foreign.positions == wanted && foreign.damaged == [1])
        #expect(try answer(bytes).damaged == [])
    }

    @Test func `the index of a segment that was rewritten is not used`() throws {
        // The same positions in a log with another history: only salts and checksums differ.
        var logs = [try KeyedLog(), try KeyedLog()]
        for number in 0..<400 {
            for index in logs.indices {
                let member = UInt64(index == 0 ? number % 7 : number % 5)
                try logs[index].append([PayloadKeys(groups: [1], members: [member], stamp: 0)])
            }
        }
        let path = try #require(try indexPaths(logs[0].disk).first)
        logs[1].disk.install(try #require(logs[0].disk.bytes(of: path)), at: path)
        let query = IndexQuery(keys: [.member(4)])
        let answer = try found(query, in: logs[1].disk)
        #expect(answer.positions == logs[1].wanted(query) && answer.damaged == [1])
    }

    @Test func `damage in a segment is found by reads that need it, and prevents an index`()
        throws
    {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog()
        try log.fill(segments: 3, &random)
        var bytes = try #require(log.disk.bytes(of: firstSegment))
        bytes[SegmentFormat.headerBytes + 60] ^= 1
        log.disk.install(bytes, at: firstSegment)
        func gaps(_ query: IndexQuery) throws -> Int {
            let indexes = SegmentIndexes(directory: directory, fileSystem: log.disk)
            let walk = indexes.walk(query)
            let reader = JournalReader(
                directory: directory, fileSystem: log.disk, from: 1, indexes: indexes)
            var gaps = 0
            while true {
                if let next = walk.next(from: reader.position), next > reader.position {
                    reader.pass(to: next)
                    continue
                }
                guard let item = try reader.next() else { return gaps }
                if case .gap = item { gaps += 1 }
            }
        }
        let first = try #require(log.payloads.compactMap { $0 }.first)
        #expect(try gaps(IndexQuery(keys: [.group(try #require(first.groups.first))])) == 1)
        #expect(try gaps(IndexQuery(keys: [.group(200)])) == 0)
        let maker = SegmentIndexMaker(
            directory: directory, fileSystem: log.disk, reading: KeyedLog.keys)
        let error = journalError {
            _ = try maker.bytes(of: 1, before: log.journal.segments[1].first)
        }
        #expect(error?.code == .damaged)
    }

    // MARK: Creation and removal

    @Test
    func
        `opening a journal rebuilds missing and damaged indexes, and removes those without a segment`()
        throws
    {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog()
        try log.fill(segments: 5, &random)
        let paths = try indexPaths(log.disk)
        #expect(paths.count == 4)
        try log.journal.close()
        try log.disk.remove(paths[0])
        var bytes = try #require(log.disk.bytes(of: paths[1]))
        // The changed byte is deep in a page that the header's checksum does not cover.
        bytes[bytes.count - 20] ^= 4
        log.disk.install(bytes, at: paths[1])
        log.disk.install([1, 2], at: directory + "/" + JournalDirectory.newIndexName)
        log.disk.install([1, 2], at: directory + "/" + JournalDirectory.indexName(of: 999_999))
        let (journal, _) = try openJournal(log.disk, KeyedLog.options())
        #expect(journal.indexing == IndexingState(waiting: 0, made: 2, failure: nil))
        #expect(try isWhole(journal, log.disk))
        #expect(!log.disk.exists(directory + "/" + JournalDirectory.newIndexName))
    }

    @Test func `an index is removed with its segment`() throws {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog()
        try log.fill(segments: 5, &random)
        try log.journal.trim(below: log.journal.segments[3].first)
        #expect(try indexPaths(log.disk).count == 1)
        #expect(try isWhole(log.journal, log.disk))
    }

    @Test func `a query continues while its segments are removed`() throws {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog()
        try log.fill(segments: 5, &random)
        let query = IndexQuery(keys: [.group(1)])
        let indexes = log.journal.indexes()
        let walk = indexes.walk(query)
        let cursor = try log.journal.read(from: 1, indexes)
        #expect(walk.next(from: 1) != nil)
        let third = log.journal.segments[2].first
        try log.journal.trim(below: third)
        // The open index still answers; for removed segments nothing is known.
        var position: UInt64 = 1
        while let next = walk.next(from: position) { position = next + 1 }
        #expect(position > 1 && position <= third)
        cursor.pass(to: third)
        #expect(try cursor.next()?.position == third)
        let gone = log.journal.source.read(from: 1, fileSystem: log.disk, indexes: indexes)
        #expect(journalError { _ = try gone.next() }?.code == .expired)
    }

    @Test func `an index that can't be written does not fail the journal`() throws {
        let faults: [(inout SimulatedFaults) -> Void] = [
            { $0.opensUntilFailure = 1 }, { $0.opensUntilFailure = 3 },
            { $0.writesUntilFailure = 1 },
            { ($0.writesUntilFailure, $0.writeErrno) = (1, 28) }, { $0.syncsUntilFailure = 1 },
        ]
        for (number, fault) in faults.enumerated() {
            var random = SeededGenerator(seed: seed)
            var log = try KeyedLog()
            try log.fill(segments: 3, &random)
            try log.disk.remove(directory + "/" + JournalDirectory.indexName(of: 1))
            fault(&log.disk.faults)
            log.journal.renewIndexes(of: [1])
            #expect(log.journal.indexing.failure != nil, "fault \(number)")
            #expect(log.journal.indexing.waiting == 1)
            #expect(!log.disk.exists(directory + "/" + JournalDirectory.newIndexName))
            log.disk.faults = SimulatedFaults()
            // Creating it is retried when the next segment is sealed.
            try log.fill(segments: 4, &random)
            #expect(try isWhole(log.journal, log.disk), "fault \(number)")
            #expect(log.journal.indexing.failure == nil)
        }
    }

    @Test func `law 3: a power cut at any time leaves indexes that are complete or rebuilt`()
        throws
    {
        var random = SeededGenerator(seed: seed)
        var log = try KeyedLog(segmentBytes: 6_000)
        try log.fill(segments: 6, &random)
        try log.journal.trim(below: log.journal.segments[2].first)
        try log.fill(segments: 7, &random)
        let state = SimulatedFileSystem()
        state.recordsOperations = false
        var done = 0
        let count = log.disk.operations.count
        for number in 0..<300 {
            while done < number * (count + 1) / 300 {
                state.replay(log.disk.operations[done])
                done += 1
            }
            let image = state.copy()
            image.crash(
                seed: random.next(),
                severity: number % 4 == 0 ? .losesAll : number % 4 == 1 ? .keepsAll : .tears)
            // A reader of the image, before any recovery, must not use an incomplete index.
            let query = log.query(&random)
            if let answer = try? found(query, in: image),
                let plain = try? found(query, in: image, usesIndexes: false)
            {
                #expect(answer.positions == plain.positions, "seed \(seed), operation \(done)")
            }
            let (journal, _) = try openJournal(image, KeyedLog.options(6_000))
            #expect(try isWhole(journal, image), "seed \(seed), operation \(done)")
        }
    }

    @Test func `on a real disk a thread creates indexes, and a start creates missing ones`() throws
    {
        let files = RealFileSystem()
        let folder =
            "\(ThisProcess.environment("TMPDIR") ?? "/tmp")/tandem-index-\(ThisProcess.processID)"
        defer { try? files.removeTree(folder) }
        func open(_ options: JournalOptions) throws -> Journal {
            try Journal.open(
                directory: folder, fileSystem: files, options: options, identityIfNew: identity,
                appliedPosition: nil
            ).journal
        }
        func fill(_ journal: Journal, _ segments: Int) throws {
            while journal.segments.count < segments {
                var batch = BatchBuilder()
                batch.append(
                    KeyedLog.payload(PayloadKeys(groups: [1], members: [2], stamp: 0), padding: 900)
                )
                try journal.append(expected: journal.bounds.last, batch: &batch)
            }
        }
        let journal = try open(KeyedLog.options())
        try fill(journal, 4)
        journal.finishIndexes()
        #expect(journal.indexing == IndexingState(waiting: 0, made: 3, failure: nil))
        try journal.close()
        // An older program created no indexes, and one index was lost.
        let older = try open(smallOptions())
        try fill(older, 6)
        try older.close()
        try files.remove(folder + "/" + JournalDirectory.indexName(of: 1))
        let again = try open(KeyedLog.options())
        again.finishIndexes()
        #expect(again.indexing == IndexingState(waiting: 0, made: 3, failure: nil))
        #expect(try files.list(folder).count { $0.hasSuffix(".index") } == 5)
        try again.close()
    }
}

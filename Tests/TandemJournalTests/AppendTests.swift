import Glibc
import TandemIO
import TandemJournal
import TestSupport
import Testing

@Suite(.ownThread) struct AppendTests {
    let disk = SimulatedFileSystem()

    @Test func `positions begin at 1 and have no gaps`() throws {
        let (journal, report) = try openJournal(disk)
        #expect(report.created)
        #expect(journal.bounds == LogBounds(first: 1, last: 0))
        #expect(try appendBatch(journal, 3) == .committed(1...3))
        #expect(try appendBatch(journal) == .committed(4...4))
        #expect(try entries(journal) == (1...4).map { Entry(position: $0, payload: payload($0)) })
    }

    @Test func `an unexpected last position is a conflict, and nothing is written`() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal, 2)
        let before = disk.operations.count
        var batch = BatchBuilder()
        batch.append([1])
        #expect(try journal.append(expected: 1, batch: &batch) == .conflict(last: 2))
        #expect(disk.operations.count == before)
    }

    @Test func `an append is one write and one sync`() throws {
        let (journal, _) = try openJournal(disk, smallOptions(65_536))
        let before = disk.operations.count
        try appendBatch(journal, 5)
        let done = disk.operations[before...]
        #expect(done.count == 2)
        #expect(done.last == .sync(firstSegment))
    }

    @Test func `a batch that does not fit begins a new segment`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<30 { try appendBatch(journal, 2, bytes: 300) }
        let segments = try disk.list(directory).filter { $0.hasSuffix(".journal") }
        #expect(segments.count > 3)
        #expect(try entries(journal).map(\.position) == Array(1...60))
        let (again, report) = try reopened()
        #expect(report.bounds == LogBounds(first: 1, last: 60))
        #expect(try entries(again).count == 60)
    }

    @Test func `a batch larger than a segment gets a segment of its own size`() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        try appendBatch(journal, 1, bytes: 50_000)
        try appendBatch(journal)
        #expect(disk.bytes(of: directory + "/0000000000000002.journal")?.count ?? 0 > 50_000)
        #expect(try entries(journal).map(\.payload.count) == [40, 50_000, 40])
    }

    @Test func `reading can begin at any position`() throws {
        let (journal, _) = try openJournal(disk, smallOptions(200_000))
        for count in 1...60 { try appendBatch(journal, count % 4 + 1, bytes: 1_500) }
        let last = journal.bounds.last
        for first in 1...last {
            let reader = JournalReader(
                directory: directory, fileSystem: disk, from: first, index: journal.index)
            #expect(
                try reader.next()
                    == .entry(Entry(position: first, payload: payload(first, bytes: 1_500))))
        }
        #expect(try entries(journal, from: last + 1).isEmpty)
    }

    @Test func `trim removes whole segments below a position`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<40 { try appendBatch(journal, 1, bytes: 600) }
        try journal.trim(below: 20)
        let first = journal.bounds.first
        #expect(first > 1 && first <= 20)
        #expect(try entries(journal, from: first).count == Int(40 - first + 1))
        #expect(journalError { _ = try entries(journal, from: first - 1) }?.code == .expired)
        #expect(try reopened().report.bounds == LogBounds(first: first, last: 40))
    }

    @Test func `trim never removes the last segment`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<40 { try appendBatch(journal, 1, bytes: 600) }
        try journal.trim(below: 1_000)
        #expect(journal.bounds.last == 40)
        #expect(try appendBatch(journal) == .committed(41...41))
    }

    @Test func `a raised epoch survives reopening`() throws {
        let (journal, _) = try openJournal(disk)
        try journal.beginEpoch()
        try appendBatch(journal)
        try journal.beginEpoch()
        #expect(journal.identity.epoch == 3)
        let (again, _) = try reopened()
        #expect(again.identity.epoch == 3)
        #expect(again.identity.isSameLog(as: identity))
        #expect(try entries(again).count == 1)
    }

    @Test func `a second writer is refused`() throws {
        let (journal, _) = try openJournal(disk)
        #expect(journalError { _ = try openJournal(disk) }?.code == .locked)
        try journal.close()
        #expect(try openJournal(disk).report.bounds.last == 0)
        #expect(journalError { try appendBatch(journal) }?.code == .closed)
    }

    @Test func `a log may begin above position 1`() throws {
        var options = smallOptions()
        options.firstPositionIfNew = 1_001
        let (journal, _) = try openJournal(disk, options, applied: 1_000)
        #expect(try appendBatch(journal) == .committed(1_001...1_001))
        #expect(journal.bounds == LogBounds(first: 1_001, last: 1_001))
    }

    @Test func `a batch returns its payloads`() throws {
        var batch = BatchBuilder()
        batch.append([1, 2])
        batch.append(encoding: { $0.append(contentsOf: [3]) })
        batch.append([])
        batch.removeLast()
        #expect(batch.count == 2)
        #expect(batch.withPayload(at: 1) { Array($0) } == [3])
        batch.removeAll()
        #expect(batch.isEmpty)
    }

    @Test func `real files and the spare's thread produce the same log`() throws {
        let place = "/tmp/tandem-journal-\(ThisProcess.processID)"
        let files = RealFileSystem()
        var options = JournalOptions()
        options.segmentBytes = 16_384
        let (journal, _) = try Journal.open(
            directory: place, fileSystem: files, options: options, identityIfNew: identity,
            appliedPosition: nil)
        for _ in 0..<60 { try appendBatch(journal, 2, bytes: 500) }
        #expect(try entries(journal).map(\.position) == Array(1...120))
        try journal.close()
        let (again, report) = try Journal.open(
            directory: place, fileSystem: files, options: options, identityIfNew: identity,
            appliedPosition: 120)
        #expect(report.bounds.last == 120)
        try again.close()
        for name in try files.list(place) { try files.remove(place + "/" + name) }
        rmdir(place)
    }

    @Test func `law 2: a reader on another thread sees every position once, in order`() throws {
        let place = "/tmp/tandem-journal-tail-\(ThisProcess.processID)"
        let files = RealFileSystem()
        var options = JournalOptions()
        options.segmentBytes = 16_384
        let (journal, _) = try Journal.open(
            directory: place, fileSystem: files, options: options, identityIfNew: identity,
            appliedPosition: nil)
        let source = journal.source
        let seen = Locked<[UInt64]>([])
        let thread = try KernelThread.start(name: "reader") {
            let cursor = source.read(from: 1, fileSystem: RealFileSystem())
            do throws(JournalError) {
                while seen.withLock({ $0.last ?? 0 }) < 400 {
                    guard let entry = try cursor.next() else { continue }
                    seen.withLock { $0.append(entry.position) }
                }
            } catch {
                Issue.record("the reader failed: \(error)")
            }
        }
        for _ in 0..<200 { try appendBatch(journal, 2, bytes: 300) }
        thread.join()
        #expect(seen.withLock { $0 } == Array(1...400))
        try journal.close()
        for name in try files.list(place) { try files.remove(place + "/" + name) }
        rmdir(place)
    }

    private func reopened() throws -> (journal: Journal, report: RecoveryReport) {
        disk.crash(seed: 1, severity: .keepsAll)
        return try openJournal(disk)
    }
}

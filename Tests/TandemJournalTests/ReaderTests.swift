import TandemIO
import Testing

@testable import TandemJournal

@Suite(.ownThread) struct ReaderTests {
    let disk = SimulatedFileSystem()

    func reader(from position: UInt64 = 1) -> JournalReader {
        JournalReader(directory: directory, fileSystem: disk, from: position)
    }

    func positions(_ items: [JournalReader.Item]) -> [UInt64] {
        items.compactMap { if case .entry(let entry) = $0 { entry.position } else { nil } }
    }

    func gaps(_ items: [JournalReader.Item]) -> [JournalReader.Gap] {
        items.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
    }

    @Test func `a reader follows the writer over new segments and epochs`() throws {
        let (journal, _) = try openJournal(disk)
        let reader = reader()
        #expect(try reader.next() == nil)
        try journal.beginEpoch()
        for round in 0..<40 {
            let outcome = try appendBatch(journal, round % 3 + 1, bytes: 500)
            if round % 10 == 9 { try journal.beginEpoch() }
            guard case .committed(let expected) = outcome else { continue }
            #expect(positions(try items(reader)) == Array(expected), "round \(round)")
        }
        #expect(reader.tailProblem == nil)
    }

    @Test func `law 1: cursors stop at the durable tail`() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        disk.faults.syncsUntilFailure = 1
        #expect(throws: JournalError.self) { try appendBatch(journal) }
        // The second batch is complete in the file, yet it is not durable.
        #expect(positions(try items(reader())) == [1, 2])
        #expect(try entries(journal).map(\.position) == [1])
    }

    @Test func `damage is a gap, and reading continues after it`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<5 { try appendBatch(journal, 2) }
        try journal.close()
        var bytes = try #require(disk.bytes(of: firstSegment))
        let start = SegmentFormat.headerBytes + SegmentFormat.frameBytes(body: 88)
        bytes[start + 70] ^= 4
        disk.install(bytes, at: firstSegment)
        let found = try items(reader())
        #expect(positions(found) == [1, 2, 5, 6, 7, 8, 9, 10])
        let gap = try #require(gaps(found).first)
        #expect(gap.offset == UInt64(start) && gap.firstMissing == 3 && gap.next == 5)
        #expect(disk.bytes(of: firstSegment) == bytes)
    }

    /// Found by the fuzz target `journal`: a reader went back from 8796093022218 to 21.
    @Test(arguments: [.max, .max - 1, 1 << 63, 8_796_093_022_218] as [UInt64])
    func `a forged position is damage, and moves no reader back`(forged: UInt64) throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<30 { try appendBatch(journal, bytes: 500) }
        try journal.close()
        var bytes = try #require(disk.bytes(of: firstSegment))
        let frame = SegmentFormat.frameBytes(body: 504)
        let start = SegmentFormat.headerBytes + frame
        bytes.withUnsafeMutableBytes { segment in
            segment.put(forged, at: start + SegmentFormat.Batch.firstPosition)
            let part = UnsafeRawBufferPointer(rebasing: segment[start..<(start + frame)])
            let checksum = BatchHeader.checksum(of: part, salt: 0x5EED_5EED)
            segment.put(checksum, at: start + SegmentFormat.Batch.checksum)
        }
        disk.install(bytes, at: firstSegment)
        let found = positions(try items(reader()))
        #expect(zip(found, found.dropFirst()).allSatisfy(<), "\(found)")
        var options = smallOptions()
        options.verification = .full
        let error = journalError { _ = try openJournal(disk, options) }
        #expect(error?.code == .damaged && error?.offset == UInt64(start))
    }

    @Test func `a lost write that left zeros is a gap for tools`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<5 { try appendBatch(journal, 2) }
        try journal.close()
        var bytes = try #require(disk.bytes(of: firstSegment))
        let size = SegmentFormat.frameBytes(body: 88)
        let start = SegmentFormat.headerBytes + size
        for offset in start..<start + size { bytes[offset] = 0 }
        disk.install(bytes, at: firstSegment)
        let found = try items(reader())
        #expect(positions(found) == [1, 2, 5, 6, 7, 8, 9, 10])
        #expect(gaps(found).map(\.next) == [5])
    }

    @Test func `a segment with an invalid header is a gap`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<12 { try appendBatch(journal, 1, bytes: 900) }
        try journal.close()
        let names = try disk.list(directory).filter { $0.hasSuffix(".journal") }
        let firsts = names.compactMap(JournalDirectory.position(of:))
        var bytes = try #require(disk.bytes(of: directory + "/" + names[1]))
        bytes[3] ^= 1
        disk.install(bytes, at: directory + "/" + names[1])
        let found = try items(reader())
        #expect(positions(found) == Array(1..<firsts[1]) + Array(firsts[2]...12))
        #expect(gaps(found).count == 1)
    }

    @Test func `a torn tail is reported, and is not a gap`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<3 { try appendBatch(journal) }
        try journal.close()
        var bytes = try #require(disk.bytes(of: firstSegment))
        let start = SegmentFormat.headerBytes + 2 * SegmentFormat.frameBytes(body: 44)
        bytes[start + 50] ^= 1
        disk.install(bytes, at: firstSegment)
        let reader = reader()
        #expect(positions(try items(reader)) == [1, 2])
        #expect(reader.tailProblem?.offset == UInt64(start))
    }

    @Test func `a removed position is expired`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<40 { try appendBatch(journal, 1, bytes: 600) }
        try journal.trim(below: 30)
        let reader = reader()
        #expect(journalError { _ = try reader.next() }?.code == .expired)
    }

    @Test func `a reader whose open segment was removed together with the next is expired`() throws
    {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<40 { try appendBatch(journal, 1, bytes: 600) }
        let reader = reader()
        _ = try reader.next()
        try journal.trim(below: 30)
        // The open file can still be read to its end.
        var last: UInt64 = 1
        let error = journalError {
            while case .entry(let entry) = try reader.next() { last = entry.position }
        }
        #expect(error?.code == .expired && last < journal.bounds.first - 1)
    }

    @Test func `a position is found in a few reads, however large the segment is`() throws {
        let disk = SimulatedFileSystem()
        disk.recordsOperations = false
        let (journal, _) = try openJournal(disk, smallOptions(4 << 20))
        for _ in 0..<1_500 { try appendBatch(journal, 3, bytes: 800) }
        let segment = try SegmentFile(directory, first: 1, disk)
        for position in stride(from: 1 as UInt64, through: 4_500, by: 431) {
            let found = try segment.batch(
                nearest: position, from: UInt64(SegmentFormat.headerBytes),
                below: try segment.size())
            let offset = found?.offset ?? UInt64(SegmentFormat.headerBytes)
            let first = found?.header.firstPosition ?? 1
            #expect(first <= position && position - first < 600, "\(position) from \(first)")
            #expect(offset < 4 << 20)
            // The same holds for a reader with an empty index.
            let reader = JournalReader(directory: directory, fileSystem: disk, from: position)
            #expect(
                try reader.next()
                    == .entry(Entry(position: position, payload: payload(position, bytes: 800))))
        }
    }

    @Test func `the index of marks drops the oldest segments`() {
        let index = JournalIndex()
        for segment in 1...200 as ClosedRange<UInt64> {
            for mark in 0..<3 as Range<UInt64> {
                index.addMark(segment: segment, position: segment, offset: mark * 70_000)
            }
        }
        #expect(index.count == 3 * JournalIndex.maximumSegments)
        #expect(index.around(segment: 200, position: 200).mark != nil)
        #expect(index.around(segment: 1, position: 1).mark == nil)
    }

    @Test func `readers never write`() throws {
        let (journal, _) = try openJournal(disk)
        for _ in 0..<20 { try appendBatch(journal, 1, bytes: 600) }
        let before = disk.operations.count
        _ = try items(reader())
        #expect(disk.operations.count == before)
    }
}

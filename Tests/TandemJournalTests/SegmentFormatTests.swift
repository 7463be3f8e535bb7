import TandemIO
import TestSupport
import Testing

@testable import TandemJournal

/// Reads the page `SegmentFormat.md` and compares it with the code.
@Suite(.ownThread) struct SegmentFormatTests {
    /// Returns the page as lines.
    func page() throws -> [Substring] {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        let root = parts.dropLast(3).joined(separator: "/")
        let path = root + "/Sources/TandemJournal/TandemJournal.docc/SegmentFormat.md"
        let bytes = try RealFileSystem().contents(of: path, maximumBytes: 1 << 20)
        return String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// Returns the bytes of the worked example, with the zeros up to the first batch.
    func example() throws -> [UInt8] {
        let lines = try page()
        let start = try #require(lines.firstIndex { $0.hasPrefix("## 7.") })
        var bytes: [UInt8] = []
        for line in lines[start...].prefix(while: { !$0.hasPrefix("## 8.") }) {
            if line.hasPrefix("*") {
                bytes += [UInt8](repeating: 0, count: SegmentFormat.headerBytes - bytes.count)
            }
            guard let offset = Int(line.prefix(8), radix: 16), line.count > 10 else { continue }
            #expect(offset == bytes.count, "\(line)")
            bytes += line.dropFirst(10).prefix(47).split(separator: " ")
                .compactMap { UInt8($0, radix: 16) }
        }
        return bytes
    }

    @Test func `the field table agrees with the constants`() throws {
        typealias Segment = SegmentFormat.Segment
        typealias Batch = SegmentFormat.Batch
        let segment: [(String, Int, Int)] = [
            ("magic", Segment.magic, 8), ("checksum", Segment.checksum, 4),
            ("formatVersion", Segment.formatVersion, 4), ("logID", Segment.logID, 16),
            ("epoch", Segment.epoch, 4), ("previousChecksum", Segment.previousChecksum, 4),
            ("firstPosition", Segment.firstPosition, 8), ("firstBatch", Segment.firstBatch, 8),
            ("salt", Segment.salt, 4), ("reserved", Segment.reserved, 4),
        ]
        let batch: [(String, Int, Int)] = [
            ("magic", Batch.magic, 4), ("checksum", Batch.checksum, 4),
            ("length", Batch.length, 4), ("count", Batch.count, 4),
            ("batchNumber", Batch.batchNumber, 8), ("firstPosition", Batch.firstPosition, 8),
            ("previousChecksum", Batch.previousChecksum, 4), ("reserved", Batch.reserved, 4),
            ("body", Batch.body, 0),
        ]
        let expected =
            segment.map { "Segment \($0.1) \($0.2) \($0.0)" }
            + batch.map { "Batch \($0.1) \($0.2) \($0.0)" }
        let rows = try page().filter { $0.hasPrefix("| Segment") || $0.hasPrefix("| Batch") }
        let found = rows.map { row in
            row.split(separator: "|").prefix(4).map { cell in
                String(cell.filter { $0 != " " })
            }.joined(separator: " ")
        }
        #expect(found == expected)
        // Every field begins where the previous one ends.
        for fields in [segment, batch] {
            for (one, next) in zip(fields, fields.dropFirst()) { #expect(one.1 + one.2 == next.1) }
        }
    }

    @Test func `the writer writes the bytes of the example`() throws {
        let shown = try example()
        let disk = SimulatedFileSystem()
        let (journal, _) = try openJournal(disk)
        for payloads in [["goal"], ["red", "corner"], ["half-time"]] {
            var batch = BatchBuilder()
            for payload in payloads { batch.append(Array(payload.utf8)) }
            try journal.append(expected: journal.bounds.last, batch: &batch)
        }
        var written = try #require(disk.bytes(of: firstSegment))
        let end = SegmentFormat.headerBytes + 48 + 64 + 56
        #expect(written[end...].allSatisfy { $0 == 0 })
        for offset in end - 8..<end { written[offset] = 0 }
        #expect(Array(written[..<end]) == shown)
    }

    @Test func `the example is read as described`() throws {
        let disk = SimulatedFileSystem()
        disk.install(try example() + [UInt8](repeating: 0, count: 4_096), at: firstSegment)
        let (journal, report) = try openJournal(disk)
        #expect(report.cutOffset == 0x1070 && report.bounds.last == 3)
        #expect(journal.identity == identity)
        let texts = try entries(journal).map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(texts == ["goal", "red", "corner"])
    }

    @Test func `headers survive encoding and decoding`() throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let header = SegmentHeader(
                identity: LogIdentity(
                    high: generator.next(), low: generator.next(),
                    epoch: UInt32(truncatingIfNeeded: generator.next() >> 33)),
                previousChecksum: UInt32(truncatingIfNeeded: generator.next()),
                firstPosition: generator.next() >> 2, firstBatch: generator.next() >> 2,
                salt: UInt32(truncatingIfNeeded: generator.next()))
            let decoded = header.encoded().withUnsafeBytes { SegmentHeader.decode($0) }
            #expect(decoded == .success(header), "seed \(seed)")
        }
    }

    @Test func `the checksum has the known value`() {
        #expect(CRC32C.checksum("123456789".utf8) == 0xE306_9283)
        #expect(CRC32C.checksum([UInt8](repeating: 0, count: 32)) == 0x8A91_36AA)
        #expect(CRC32C.checksum([]) == 0)
        // Steps of eight bytes give the same checksum as single bytes, whatever the length.
        for count in 0..<40 {
            let bytes = (0..<count).map { UInt8($0 * 5) }
            var crc = ~UInt32(5)
            for byte in bytes {
                crc ^= UInt32(byte)
                for _ in 0..<8 { crc = (crc >> 1) ^ (crc & 1 == 1 ? CRC32C.polynomial : 0) }
            }
            #expect(CRC32C.checksum(bytes, salt: 5) == ~crc, "\(count) bytes")
        }
    }

    @Test func `the instruction and the tables compute the same checksum`() {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let count = Int.random(in: 0...600, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let start = Int.random(in: 0...min(9, count), using: &generator)
            let salt = UInt32.random(in: 0...UInt32.max, using: &generator)
            bytes.withUnsafeBytes { all in
                // The bytes are not aligned.
                let part = UnsafeRawBufferPointer(rebasing: all[start...])
                #expect(
                    CRC32C.checksum(part, salt: salt)
                        == CRC32C.checksumByTables(part, salt: salt), "seed \(seed)")
            }
        }
    }

    @Test func `segment names sort by position`() {
        #expect(JournalDirectory.name(of: 255) == "00000000000000ff.journal")
        for position in [1, 255, 1 << 40, UInt64.max] {
            #expect(JournalDirectory.position(of: JournalDirectory.name(of: position)) == position)
        }
        for name in ["1.journal", "00000000000000FF.journal", "+00000000000000f.journal", "lock"] {
            #expect(JournalDirectory.position(of: name) == nil)
        }
    }
}

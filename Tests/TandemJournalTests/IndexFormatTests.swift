import TandemIO
import TestSupport
import Testing

@testable import TandemJournal

/// Reads the page `IndexFormat.md` and compares it with the code.
@Suite(.ownThread) struct IndexFormatTests {
    private func page() throws -> [Substring] {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        let root = parts.dropLast(3).joined(separator: "/")
        let path = root + "/Sources/TandemJournal/TandemJournal.docc/IndexFormat.md"
        let bytes = try RealFileSystem().contents(of: path, maximumBytes: 1 << 20)
        return String(decoding: bytes, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).map { Substring($0) }
    }

    /// Returns the bytes of the worked example; a line with a star represents zeros up to an
    /// address.
    private func example() throws -> [UInt8] {
        let lines = try page()
        let start = try #require(lines.firstIndex { $0.hasPrefix("## 7.") })
        var bytes: [UInt8] = []
        for line in lines[start...].prefix(while: { !$0.hasPrefix("## 8.") }) {
            if line.hasPrefix("*"), let end = Int(line.split(separator: " ").last ?? "") {
                bytes += [UInt8](repeating: 0, count: end - bytes.count)
            }
            guard let offset = Int(line.prefix(8), radix: 16), line.count > 10 else { continue }
            #expect(offset == bytes.count, "\(line)")
            bytes += line.dropFirst(10).prefix(47).split(separator: " ")
                .compactMap { UInt8($0, radix: 16) }
        }
        return bytes
    }

    /// The index that the example shows.
    private var made: [UInt8] {
        let first = SegmentHeader(
            identity: identity, previousChecksum: 0, firstPosition: 1, firstBatch: 1,
            salt: 0x5EED_5EED)
        let next = SegmentHeader(
            identity: identity, previousChecksum: 0xC96F_310B, firstPosition: 4, firstBatch: 4,
            salt: 7)
        var builder = SegmentIndexBuilder(IndexedSegment(first, before: next))
        for (position, offset) in [(1, 4_096), (2, 4_144), (3, 4_208)] as [(UInt64, UInt64)] {
            builder.mark(position, at: offset)
        }
        builder.add(1, PayloadKeys(groups: [1], members: [5], stamp: 10))
        builder.add(2, PayloadKeys(groups: [1, 2], members: [300, 5], stamp: 20))
        builder.add(3, nil)
        return builder.finish()
    }

    @Test func `the field table agrees with the constants`() throws {
        typealias Header = IndexFormat.Header
        let header: [(String, Int, Int)] = [
            ("magic", Header.magic, 8), ("checksum", Header.checksum, 4),
            ("formatVersion", Header.formatVersion, 4), ("logID", Header.logID, 16),
            ("epoch", Header.epoch, 4), ("salt", Header.salt, 4),
            ("firstPosition", Header.firstPosition, 8),
            ("nextPosition", Header.nextPosition, 8), ("endChecksum", Header.endChecksum, 4),
            ("flags", Header.flags, 4), ("lowestStamp", Header.lowestStamp, 8),
            ("highestStamp", Header.highestStamp, 8), ("leaves", Header.leaves, 8),
            ("marks", Header.marks, 8), ("bodyBytes", Header.bodyBytes, 8),
        ]
        for (one, next) in zip(header, header.dropFirst()) { #expect(one.1 + one.2 == next.1) }
        #expect(header.last.map { $0.1 + $0.2 } == Header.end)
        let expected =
            header.map { "Header \($0.1) \($0.2) \($0.0)" }
            + [
                "Directory 0 8 key", "Directory 8 8 address", "Mark 0 8 position",
                "Mark 8 8 offset",
            ]
        let rows = try page().filter { line in
            ["| Header", "| Directory", "| Mark"].contains { line.hasPrefix($0) }
        }
        let found = rows.map { row in
            row.split(separator: "|").prefix(4).map { cell in
                String(cell.filter { $0 != " " })
            }.joined(separator: " ")
        }
        #expect(found == expected)
        let text = try page().joined(separator: " ")
        for constant in ["4,092", "512 bytes", "16,384", "4,194,304", "1,024"] {
            #expect(text.contains(constant), "\(constant)")
        }
        #expect(IndexFormat.pageBody == 4_092 && IndexFormat.leafBytes == 512)
        #expect(IndexFormat.markSpacing == 16_384 && IndexFormat.maximumPostings == 4_194_304)
        #expect(IndexQuery.maximumKeys == 1_024 && IndexFormat.recordBytes == 16)
    }

    @Test func `the example equals the generated index`() throws {
        #expect(try example() == made, "\n\(Self.dump(made))")
    }

    @Test func `the example is read as described`() throws {
        let index = try SegmentIndex(bytes: try example())
        func positions(_ keys: [IndexKey]) throws -> [UInt64] {
            var merge = try #require(try index.positions(of: IndexQuery(keys: keys)))
            var found: [UInt64] = []
            for position in 1...3 as ClosedRange<UInt64> {
                if try merge.first(from: position) == position { found.append(position) }
            }
            return found
        }
        #expect(try positions([.group(1)]) == [1, 2, 3])
        #expect(try positions([.group(2)]) == [2, 3])
        #expect(try positions([.member(5)]) == [1, 2, 3])
        #expect(try positions([.member(300)]) == [2, 3])
        #expect(try positions([.member(6)]) == [3])
        #expect(index.header.stamps == 10...20)
        #expect(try index.offset(of: 3) == 4_096)
    }

    @Test func `headers survive encoding and decoding`() throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let first = UInt64.random(in: 1..<1 << 40, using: &random)
            let (one, next) = (
                SegmentHeader(
                    identity: LogIdentity(high: random.next(), low: random.next(), epoch: 9),
                    previousChecksum: 1, firstPosition: first, firstBatch: 1,
                    salt: UInt32(truncatingIfNeeded: random.next())),
                SegmentHeader(
                    identity: identity, previousChecksum: UInt32(truncatingIfNeeded: random.next()),
                    firstPosition: first + 7, firstBatch: 9, salt: 2)
            )
            var header = IndexHeader(IndexedSegment(one, before: next))
            (header.leaves, header.marks, header.bodyBytes) = (3, 4, 500)
            header.hasMembers = first.isMultiple(of: 2)
            header.stamps = first.isMultiple(of: 3) ? nil : -5...Int64(first)
            #expect(try IndexHeader(page: header.encoded()) == header, "seed \(seed)")
        }
    }

    /// Returns the bytes in the page's notation.
    private static func dump(_ bytes: [UInt8]) -> String {
        var lines: [String] = []
        var offset = 0
        while offset < bytes.count {
            let row = bytes[offset..<min(bytes.count, offset + 16)]
            if row.allSatisfy({ $0 == 0 }),
                let end = bytes[offset...].firstIndex(where: { $0 != 0 })
            {
                let next = end / 16 * 16
                if next > offset {
                    lines.append("*  zeros up to \(next)")
                    offset = next
                    continue
                }
            }
            let hex = row.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
            let text = row.map { (0x20..<0x7F).contains($0) ? String(UnicodeScalar($0)) : "." }
            let address = String(offset, radix: 16)
            lines.append(
                String(repeating: "0", count: 8 - address.count) + address + "  "
                    + hex.joined(separator: " ") + "  " + text.joined())
            offset += 16
        }
        return lines.joined(separator: "\n")
    }
}

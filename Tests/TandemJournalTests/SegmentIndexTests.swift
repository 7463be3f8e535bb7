import TandemIO
import TestSupport
import Testing

@testable import TandemJournal

/// The index of a segment as a value: it finds exactly the keys that were added.
@Suite(.ownThread) struct SegmentIndexTests {
    private static let segment = IndexedSegment(
        SegmentHeader(
            identity: identity, previousChecksum: 5, firstPosition: 100, firstBatch: 7,
            salt: 0x5EED_5EED),
        before: SegmentHeader(
            identity: identity, previousChecksum: 77, firstPosition: 5_100, firstBatch: 900,
            salt: 1))

    /// Returns all positions that an index contains for a key.
    private func positions(_ index: SegmentIndex, _ key: IndexKey) throws -> [UInt64] {
        var merge = try #require(try index.positions(of: IndexQuery(keys: [key])))
        var (found, next) = ([UInt64](), UInt64(0))
        while let position = try merge.first(from: next) {
            found.append(position)
            next = position + 1
        }
        return found
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `each key has exactly its positions, in dense lists, sparse ones and with large numbers`(
        _ round: UInt64
    ) throws {
        let seed = seed &+ round
        var random = SeededGenerator(seed: seed)
        var builder = SegmentIndexBuilder(Self.segment)
        var wanted: [IndexKey: [UInt64]] = [:]
        for position in Self.segment.positions {
            builder.mark(position, at: 4_096 + (position - 100) * 64)
            guard Int.random(in: 0..<10, using: &random) > 0 else { continue }
            let members = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                UInt64.random(in: 0...3, using: &random) == 0
                    ? UInt64.random(in: 0..<1 << 60, using: &random)
                    : UInt64.random(in: 1...(round * 2_000 + 3), using: &random)
            }
            let groups = Set([UInt16(position / 400), UInt16.random(in: 0...30, using: &random)])
            builder.add(
                position, PayloadKeys(groups: groups.sorted(), members: members, stamp: 3))
            for key in Set(members.map(IndexKey.member) + groups.map(IndexKey.group)) {
                wanted[key, default: []].append(position)
            }
        }
        let index = try SegmentIndex(bytes: builder.finish())
        for (key, list) in wanted {
            #expect(try positions(index, key) == list, "seed \(seed), \(key)")
        }
        for _ in 0..<300 {
            let key = IndexKey.member(.random(in: 0..<1 << 61, using: &random))
            #expect(try positions(index, key) == wanted[key] ?? [], "seed \(seed), \(key)")
        }
    }

    @Test func `a batch is found at the mark at or below its position`() throws {
        var builder = SegmentIndexBuilder(Self.segment)
        for position in Self.segment.positions where position.isMultiple(of: 10) {
            builder.mark(position, at: 4_096 + (position - 100) * 100)
        }
        let index = try SegmentIndex(bytes: builder.finish())
        for position in Self.segment.positions {
            let offset = try #require(try index.offset(of: position))
            let begins = (offset - 4_096) / 100 + 100
            #expect(begins <= position && position - begins < 200, "\(position)")
        }
        #expect(try index.offset(of: 99) == nil)
    }

    @Test func `with too many members only groups are distinguished`() throws {
        var builder = SegmentIndexBuilder(Self.segment, maximumPostings: 10)
        for position in Self.segment.positions {
            builder.add(position, PayloadKeys(groups: [1], members: [position], stamp: 0))
        }
        let index = try SegmentIndex(bytes: builder.finish())
        #expect(try index.positions(of: IndexQuery(keys: [.member(100)])) == nil)
        #expect(try positions(index, .group(1)) == Array(Self.segment.positions))
        #expect(try positions(index, .group(2)) == [])
    }

    @Test func `a payload with a key that has the code of another key matches any query`() throws {
        var builder = SegmentIndexBuilder(Self.segment)
        builder.add(100, PayloadKeys(groups: [0], members: [.max], stamp: 0))
        builder.add(101, PayloadKeys(groups: [.max], members: [1], stamp: 0))
        builder.add(102, PayloadKeys(groups: [1], members: [2], stamp: 0))
        let index = try SegmentIndex(bytes: builder.finish())
        for key in [IndexKey.member(1), .member(.max), .group(0), .group(.max)] {
            #expect(try positions(index, key) == [100, 101], "\(key)")
        }
        for key in [IndexKey.member(2), .group(1)] {
            #expect(try positions(index, key) == [100, 101, 102], "\(key)")
        }
    }

    @Test func `every truncation and every changed byte is detected`() throws {
        var random = SeededGenerator(seed: seed)
        var builder = SegmentIndexBuilder(Self.segment)
        for position in Self.segment.positions {
            builder.add(position, PayloadKeys(groups: [1], members: [position / 3], stamp: 0))
        }
        let whole = builder.finish()
        #expect(whole.count == 4 * IndexFormat.pageBytes)
        try SegmentIndex(bytes: whole).readThrough()
        for count in 0..<whole.count {
            #expect(throws: IndexDamage.self) { try SegmentIndex(bytes: Array(whole[..<count])) }
            var changed = whole
            changed[count] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            #expect(throws: IndexDamage.self, "seed \(seed), changed at \(count)") {
                try SegmentIndex(bytes: changed).readThrough()
            }
        }
    }

    @Test func `a query ends, whatever bytes a page with a valid checksum has`() throws {
        var random = SeededGenerator(seed: seed)
        var builder = SegmentIndexBuilder(Self.segment)
        for position in Self.segment.positions {
            builder.add(position, PayloadKeys(groups: [1], members: [position / 3], stamp: 0))
        }
        let whole = builder.finish()
        for _ in 0..<400 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let offset = Int.random(in: 0..<bytes.count, using: &random)
                bytes[offset] = UInt8.random(in: 0...255, using: &random)
            }
            Self.reseal(&bytes)
            guard let index = try? SegmentIndex(bytes: bytes) else { continue }
            for key in [IndexKey.member(40), .group(1), .unread, .member(0)] {
                let found = (try? positions(index, key)) ?? []
                #expect(found.allSatisfy(index.header.segment.positions.contains))
            }
            _ = try? index.offset(of: 200)
        }
    }

    /// Updates the checksums of the header and of the pages.
    private static func reseal(_ bytes: inout [UInt8]) {
        let size = IndexFormat.pageBytes
        let header = bytes[IndexFormat.Header.formatVersion..<size]
        let sum = CRC32C.checksum(header)
        bytes.withUnsafeMutableBytes { bytes in
            bytes.put(sum, at: IndexFormat.Header.checksum)
            let salt = bytes.get(UInt32.self, at: IndexFormat.Header.salt)
            for number in 0..<(bytes.count / size - 1) {
                let start = (number + 1) * size
                let page = UnsafeRawBufferPointer(rebasing: bytes[start..<start + size])
                bytes.put(
                    IndexFormat.checksum(ofPage: UInt64(number), page, salt: salt),
                    at: start + IndexFormat.pageBody)
            }
        }
    }
}

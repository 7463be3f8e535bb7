/// A builder that collects the keys of a segment's payloads and returns the bytes of its index.
///
/// The result is deterministic. Memory: 16 bytes for each member of each payload, plus the size of
/// the index.
struct SegmentIndexBuilder {
    private struct Posting {
        var member: UInt64
        var position: UInt64
    }

    private let segment: IndexedSegment
    private let maximumPostings: Int
    private var postings: [Posting] = []
    private var hasMembers = true
    private var groups: [UInt16: PositionListWriter] = [:]
    private var unread: PositionListWriter
    private var stamps: ClosedRange<Int64>?
    private var marks: [JournalIndex.Mark] = []

    /// Creates a builder for the index of a segment.
    init(_ segment: IndexedSegment, maximumPostings: Int = IndexFormat.maximumPostings) {
        self.segment = segment
        self.maximumPostings = maximumPostings
        unread = PositionListWriter(first: segment.firstPosition)
    }

    /// Adds the batch that begins with a position at an offset in the segment; batches must be
    /// added in order.
    mutating func mark(_ position: UInt64, at offset: UInt64) {
        assert(
            marks.last.map { $0.position < position && $0.offset < offset } ?? true,
            "Batches are added in order.")
        if let last = marks.last, offset < last.offset + IndexFormat.markSpacing { return }
        marks.append(JournalIndex.Mark(position: position, offset: offset))
    }

    /// Adds a payload, in order.
    ///
    /// A payload without keys, or with ambiguous keys, may match any query.
    mutating func add(_ position: UInt64, _ keys: PayloadKeys?) {
        guard let keys, !keys.areAmbiguous else { return unread.append(position) }
        let stamp = keys.stamp
        stamps =
            stamps.map { min($0.lowerBound, stamp)...max($0.upperBound, stamp) } ?? stamp...stamp
        for group in keys.groups {
            groups[group, default: PositionListWriter(first: segment.firstPosition)]
                .append(position)
        }
        guard hasMembers else { return }
        guard postings.count + keys.members.count <= maximumPostings else {
            hasMembers = false
            postings = []
            return
        }
        for member in keys.members {
            postings.append(Posting(member: member, position: position))
        }
    }

    /// Returns the bytes of the index.
    consuming func finish() -> [UInt8] {
        var entries = EntryWriter()
        addMembers(to: &entries)
        for group in groups.keys.sorted() {
            entries.append(.group(group), groups[group]?.finish() ?? [])
        }
        entries.append(.unread, unread.finish())
        var header = IndexHeader(segment)
        header.hasMembers = hasMembers
        header.stamps = stamps
        header.leaves = UInt64(entries.leaves.count)
        header.marks = UInt64(marks.count)
        var body = entries.bytes
        for leaf in entries.leaves { body.append(pair: (leaf.key, leaf.address)) }
        for mark in marks { body.append(pair: (mark.position, mark.offset)) }
        header.bodyBytes = UInt64(body.count)
        assert(
            header.leavesStart == UInt64(entries.bytes.count),
            "The directory begins where the entries end.")
        return header.encoded() + Self.pages(of: body, salt: segment.salt)
    }

    private mutating func addMembers(to entries: inout EntryWriter) {
        postings.sort { ($0.member, $0.position) < ($1.member, $1.position) }
        var index = 0
        while index < postings.count {
            let member = postings[index].member
            var list = PositionListWriter(first: segment.firstPosition)
            while index < postings.count, postings[index].member == member {
                list.append(postings[index].position)
                index += 1
            }
            entries.append(.member(member), list.finish())
        }
        postings = []
    }

    /// Splits a body into pages with checksums; the last page is padded with zeros.
    private static func pages(of body: [UInt8], salt: UInt32) -> [UInt8] {
        let (part, size) = (IndexFormat.pageBody, IndexFormat.pageBytes)
        let count = (body.count + part - 1) / part
        var bytes = [UInt8](repeating: 0, count: count * size)
        bytes.withUnsafeMutableBytes { bytes in
            body.withUnsafeBytes { body in
                for number in 0..<count {
                    let page = UnsafeMutableRawBufferPointer(
                        rebasing: bytes[(number * size)..<((number + 1) * size)])
                    page.copyMemory(
                        from: UnsafeRawBufferPointer(
                            rebasing: body[(number * part)..<min(body.count, (number + 1) * part)]))
                    let checksum = IndexFormat.checksum(
                        ofPage: UInt64(number), UnsafeRawBufferPointer(page), salt: salt)
                    page.put(checksum, at: part)
                }
            }
        }
        return bytes
    }
}

/// A writer of entries in key order, and of a directory of their leaves.
private struct EntryWriter {
    private(set) var bytes: [UInt8] = []
    private(set) var leaves: [(key: UInt64, address: UInt64)] = []
    private var isLeafOpen = false
    private var last: UInt64 = 0

    /// Adds the list of a key larger than the previous one; an empty list is skipped.
    mutating func append(_ key: IndexKey, _ list: [UInt8]) {
        guard !list.isEmpty else { return }
        assert(bytes.isEmpty || key.code > last, "Each key is larger than the previous one.")
        if !isLeafOpen {
            leaves.append((key.code, UInt64(bytes.count)))
            (isLeafOpen, last) = (true, key.code)
        }
        Varint.append(key.code - last, to: &bytes)
        Varint.append(UInt64(list.count), to: &bytes)
        bytes += list
        last = key.code
        let start = leaves.last.map { Int($0.address) } ?? 0
        isLeafOpen = bytes.count - start < IndexFormat.leafBytes
    }
}

extension [UInt8] {
    fileprivate mutating func append(pair: (UInt64, UInt64)) {
        for number in [pair.0, pair.1] {
            Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
        }
    }
}

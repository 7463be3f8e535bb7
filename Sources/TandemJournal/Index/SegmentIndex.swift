/// The index of a sealed segment: which of its payloads have a key, and where batches begin.
///
/// A question reads the header, a page for each halving of the directory, and the pages of its lists: what it holds grows neither
/// with the journal nor with the segment. Bound to one thread.
final class SegmentIndex {
    let header: IndexHeader
    private let body: PagedBytes
    private var lookups = 0

    /// How many keys were looked up and pages read.
    var work: Int { lookups + body.reads }

    /// An index with a header, whose pages `source` gives.
    init(_ header: IndexHeader, source: @escaping PagedBytes.Source) {
        self.header = header
        body = PagedBytes(count: header.bodyBytes, salt: header.segment.salt, source: source)
    }

    /// An index in memory.
    convenience init(bytes: [UInt8]) throws(IndexDamage) {
        let size = IndexFormat.pageBytes
        let header = try IndexHeader(page: Array(bytes.prefix(size)))
        guard UInt64(bytes.count) == header.fileBytes else {
            throw IndexDamage("it has \(bytes.count) bytes, \(header.fileBytes) were expected")
        }
        self.init(header) { number in
            Array(bytes.dropFirst((Int(number) + 1) * size).prefix(size))
        }
    }

    /// The positions at or above one that a question may want, one after the other; nil where it may want any.
    func positions(of question: IndexQuestion) throws(IndexDamage) -> PositionMerge? {
        guard let keys = question.keys(ifStamps: header.stamps) else { return nil }
        // Without members apart nothing can be said of any.
        let isMember = { (key: IndexKey) in key < .group(0) }
        guard header.hasMembers || !keys.contains(where: isMember) else { return nil }
        var cursors: [PositionCursor] = []
        for key in keys.sorted() {
            lookups += 1
            guard let list = try list(of: key) else { continue }
            cursors.append(PositionCursor(body, list, positions: header.segment.positions))
        }
        return PositionMerge(cursors)
    }

    /// The offset in the segment of the last marked batch that begins at or below a position.
    func offset(of position: UInt64) throws(IndexDamage) -> UInt64? {
        try record(atOrBelow: position, from: header.marksStart, count: header.marks)?.1
    }

    /// Reads every page; throws at the first that is not whole.
    func readThrough() throws(IndexDamage) {
        let size = UInt64(IndexFormat.pageBody)
        var number: UInt64 = 0
        while number * size < header.bodyBytes {
            _ = try body.page(number)
            number += 1
        }
    }

    /// Where the list of a key lies in the body; nil where no payload has it.
    private func list(of key: IndexKey) throws(IndexDamage) -> Range<UInt64>? {
        let leaf = try record(
            atOrBelow: key.code, from: header.leavesStart, count: header.leaves)
        guard let (first, address) = leaf else { return nil }
        guard address < header.leavesStart else {
            throw IndexDamage("a leaf is beyond the entries")
        }
        var cursor = PagedBytes.Cursor(body, at: address)
        var code = first
        // A leaf ends with the entry that fills it; what follows has larger keys in any case.
        while cursor.address < header.leavesStart, code <= key.code {
            let start = cursor.address
            let step = try Varint.read { () throws(IndexDamage) in try cursor.next() }
            guard start == address || step > 0 else { break }
            let (next, isBeyond) = code.addingReportingOverflow(step)
            let count = try Varint.read { () throws(IndexDamage) in try cursor.next() }
            guard !isBeyond, next <= key.code else { return nil }
            code = next
            let list = cursor.address
            try cursor.skip(count)
            if code == key.code { return list..<cursor.address }
        }
        return nil
    }

    /// The last record of a table whose first number is at or below one.
    private func record(
        atOrBelow number: UInt64, from start: UInt64, count: UInt64
    ) throws(IndexDamage) -> (UInt64, UInt64)? {
        var (low, high) = (UInt64(0), count)
        var found: (UInt64, UInt64)?
        while low < high {
            let middle = low + (high - low) / 2
            let record = try body.pair(at: start + middle * IndexFormat.recordBytes)
            if record.0 <= number {
                found = record
                low = middle + 1
            } else {
                high = middle
            }
        }
        return found
    }
}

/// The positions of several lists, in order and each once.
struct PositionMerge {
    private var cursors: [PositionCursor]

    init(_ cursors: [PositionCursor]) { self.cursors = cursors }

    /// The first position at or above one, which must not be below that of the call before; nil for none.
    mutating func first(from position: UInt64) throws(IndexDamage) -> UInt64? {
        var lowest: UInt64?
        for index in cursors.indices {
            guard let found = try cursors[index].first(from: position) else { continue }
            lowest = min(lowest ?? found, found)
        }
        return lowest
    }
}

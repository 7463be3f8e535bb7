/// The index of a sealed segment: the payloads that have a key, and the offsets of batches.
///
/// A query reads the header, a page for each bisection step in the directory, and the pages of its
/// lists. Its memory use depends neither on the journal's size nor on the segment's. Bound to one
/// thread.
final class SegmentIndex {
    let header: IndexHeader
    private let body: PagedBytes
    private var lookups = 0

    /// The number of keys looked up and pages read.
    var work: Int { lookups + body.reads }

    /// Creates an index from its header and a source of its pages.
    init(_ header: IndexHeader, source: @escaping PagedBytes.Source) {
        self.header = header
        body = PagedBytes(count: header.bodyBytes, salt: header.segment.salt, source: source)
    }

    /// Creates an index in memory.
    convenience init(bytes: [UInt8]) throws(IndexDamage) {
        let size = IndexFormat.pageBytes
        let header = try IndexHeader(page: Array(bytes.prefix(size)))
        guard UInt64(bytes.count) == header.fileBytes else {
            throw IndexDamage("the index has \(bytes.count) bytes, not \(header.fileBytes)")
        }
        self.init(header) { number in
            Array(bytes.dropFirst((Int(number) + 1) * size).prefix(size))
        }
    }

    /// Returns the positions that may match a query, in order; nil if any may match.
    func positions(of query: IndexQuery) throws(IndexDamage) -> PositionMerge? {
        guard let keys = query.keys(ifStamps: header.stamps) else { return nil }
        // An index without members can't answer queries for members.
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

    /// Returns the offset in the segment of the last marked batch that begins at or below a
    /// position.
    func offset(of position: UInt64) throws(IndexDamage) -> UInt64? {
        try record(atOrBelow: position, from: header.marksStart, count: header.marks)?.1
    }

    /// Reads every page; throws at the first damaged one.
    func readThrough() throws(IndexDamage) {
        let size = UInt64(IndexFormat.pageBody)
        var number: UInt64 = 0
        while number * size < header.bodyBytes {
            _ = try body.page(number)
            number += 1
        }
    }

    /// Returns the range of a key's list in the body, or nil if no payload has the key.
    private func list(of key: IndexKey) throws(IndexDamage) -> Range<UInt64>? {
        let leaf = try record(
            atOrBelow: key.code, from: header.leavesStart, count: header.leaves)
        guard let (first, address) = leaf else { return nil }
        guard address < header.leavesStart else {
            throw IndexDamage("a leaf is beyond the entries")
        }
        var cursor = PagedBytes.Cursor(body, at: address)
        var code = first
        // The search may harmlessly run past the leaf's end, because later entries have larger
        // keys.
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

    /// Returns the last record of a table whose first number is at or below `number`.
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

/// The merged positions of several lists, in order and without duplicates.
struct PositionMerge {
    private var cursors: [PositionCursor]

    init(_ cursors: [PositionCursor]) { self.cursors = cursors }

    /// Returns the first position at or above `position`, or nil if there is none.
    ///
    /// `position` must not decrease from call to call.
    mutating func first(from position: UInt64) throws(IndexDamage) -> UInt64? {
        var lowest: UInt64?
        for index in cursors.indices {
            guard let found = try cursors[index].first(from: position) else { continue }
            lowest = min(lowest ?? found, found)
        }
        return lowest
    }
}

/// A compact encoder of ascending positions, as runs that are encoded by their distance from the
/// previous run.
///
/// An item is a varint with twice the number of skipped positions, plus one if a second varint
/// follows. The second varint has the number of positions that follow the first, minus one. A
/// position in a dense list therefore takes almost no space, and one in a sparse list takes one to
/// three bytes.
struct PositionListWriter {
    private(set) var bytes: [UInt8] = []
    /// The position of an item with distance 0.
    private var base: UInt64
    private var run: ClosedRange<UInt64>?

    /// Creates an encoder for positions from `first`.
    init(first: UInt64) { base = first }

    /// Adds a position; adding the last one again has no effect.
    mutating func append(_ position: UInt64) {
        assert(position >= run?.upperBound ?? base, "Positions are added in ascending order.")
        guard let run else {
            self.run = position...position
            return
        }
        if position == run.upperBound { return }
        if position == run.upperBound + 1 {
            self.run = run.lowerBound...position
        } else {
            flush()
            self.run = position...position
        }
    }

    /// Ends the list and returns its bytes.
    mutating func finish() -> [UInt8] {
        flush()
        return bytes
    }

    private mutating func flush() {
        guard let run else { return }
        let more = run.upperBound - run.lowerBound
        Varint.append((run.lowerBound - base) << 1 | (more > 0 ? 1 : 0), to: &bytes)
        if more > 0 { Varint.append(more - 1, to: &bytes) }
        base = run.upperBound + 1
        self.run = nil
    }
}

/// Variable-length numbers: seven bits per byte, the lowest first; all bytes except the last have
/// the eighth bit set.
enum Varint {
    /// The largest size of a number in bytes.
    static let maximumBytes = 10

    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Reads a number from the bytes that `next` returns.
    static func read(
        _ next: () throws(IndexDamage) -> UInt8
    ) throws(IndexDamage) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            let byte = try next()
            let part = UInt64(byte & 0x7F)
            guard shift < 63 || part <= 1 else { break }
            number |= part << shift
            if byte & 0x80 == 0 { return number }
        }
        throw IndexDamage("a number does not end")
    }
}

/// The reason why an index can't be used, as a sentence.
struct IndexDamage: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A cursor over the positions of a list in a paged body.
struct PositionCursor {
    private var bytes: PagedBytes.Cursor
    private let end: UInt64
    /// The exclusive upper bound of the positions in the list.
    private let limit: UInt64
    private var base: UInt64
    private var run: ClosedRange<UInt64>?

    /// Creates a cursor over the list at a range of a body; `positions` are those of the whole
    /// segment.
    init(_ body: PagedBytes, _ range: Range<UInt64>, positions: Range<UInt64>) {
        bytes = PagedBytes.Cursor(body, at: range.lowerBound)
        end = range.upperBound
        base = positions.lowerBound
        limit = positions.upperBound
    }

    /// Returns the first position of the list at or above `position`, or nil if there is none.
    ///
    /// `position` must not decrease from call to call.
    mutating func first(from position: UInt64) throws(IndexDamage) -> UInt64? {
        while true {
            if let run, run.upperBound >= position { return max(run.lowerBound, position) }
            guard bytes.address < end else { return nil }
            try readRun()
        }
    }

    private mutating func readRun() throws(IndexDamage) {
        assert(base <= limit, "The runs read so far lie within the segment.")
        let head = try number()
        let more = head & 1 == 1 ? try number() : nil
        let room = limit - base
        let gap = head >> 1
        guard gap < room, more.map({ $0 < room - gap - 1 }) ?? true else {
            throw IndexDamage("a list extends beyond the segment")
        }
        let first = base + gap
        let last = more.map { first + 1 + $0 } ?? first
        assert(last < limit, "A run lies within the segment.")
        run = first...last
        base = last + 1
    }

    private mutating func number() throws(IndexDamage) -> UInt64 {
        try Varint.read { () throws(IndexDamage) in try bytes.next() }
    }
}

/// Writes rising positions in few bytes: runs, each by its distance from the one before.
///
/// An item is a varint of twice the number of positions left out, plus one where a second varint follows with how many more
/// positions follow the first. So each of a dense list costs nothing, one of a sparse list a byte or three.
struct PositionListWriter {
    private(set) var bytes: [UInt8] = []
    /// The position that an item with the distance 0 begins with.
    private var base: UInt64
    private var run: ClosedRange<UInt64>?

    /// A list of positions from `first` on.
    init(first: UInt64) { base = first }

    /// Adds a position; the last one once more changes nothing.
    mutating func append(_ position: UInt64) {
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

    /// Ends the list.
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

/// Numbers by seven bits a byte, the lowest first; all but the last byte have the eighth bit.
enum Varint {
    /// No number takes more bytes.
    static let maximumBytes = 10

    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Reads a number whose bytes `next` gives.
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

/// Why an index can't be used; a sentence tells what was found.
struct IndexDamage: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Walks over the positions of a list, which lies in a body of pages.
struct PositionCursor {
    private var bytes: PagedBytes.Cursor
    private let end: UInt64
    /// One above every position that may be in it.
    private let limit: UInt64
    private var base: UInt64
    private var run: ClosedRange<UInt64>?

    /// A cursor over the list at an address of a body, of the segment with these positions.
    init(_ body: PagedBytes, _ range: Range<UInt64>, positions: Range<UInt64>) {
        bytes = PagedBytes.Cursor(body, at: range.lowerBound)
        end = range.upperBound
        base = positions.lowerBound
        limit = positions.upperBound
    }

    /// The first position of the list at or above one, which must not be below that of the call before; nil for none.
    mutating func first(from position: UInt64) throws(IndexDamage) -> UInt64? {
        while true {
            if let run, run.upperBound >= position { return max(run.lowerBound, position) }
            guard bytes.address < end else { return nil }
            try readRun()
        }
    }

    private mutating func readRun() throws(IndexDamage) {
        let head = try number()
        let more = head & 1 == 1 ? try number() : nil
        let room = limit - base
        let gap = head >> 1
        guard gap < room, more.map({ $0 < room - gap - 1 }) ?? true else {
            throw IndexDamage("a list goes beyond the segment")
        }
        let first = base + gap
        let last = more.map { first + 1 + $0 } ?? first
        run = first...last
        base = last + 1
    }

    private mutating func number() throws(IndexDamage) -> UInt64 {
        try Varint.read { () throws(IndexDamage) in try bytes.next() }
    }
}

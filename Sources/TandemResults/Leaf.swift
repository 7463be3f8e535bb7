import TandemModel
import TandemQuery

/// A short sorted run of rows, stored in columns, with all keys in one buffer.
///
/// The common prefix of all keys is stored once, at the beginning of the buffer. In a list that is
/// ordered by its sections, the prefix contains most of the section's part of the key. Because the
/// rows are sorted, this prefix is the common prefix of the first and the last key. Inserting a row
/// whose key lacks the prefix shortens the prefix and rewrites the buffer.
struct Leaf: Sendable {
    /// The maximum number of rows, small enough that shifting them takes only tens of nanoseconds.
    static let capacity = 128
    /// The number of rows in a leaf built in bulk, which leaves room for inserts before a split.
    static let bulkFill = 96
    /// The total size of the keys, in bytes, above which a leaf of several rows is split as well,
    /// because shifting keys takes time.
    static let keyCapacity = 16 * 1024

    /// The columns that differ in nearly every row.
    struct Entry: Sendable {
        /// The lower half of the row's number.
        var low: UInt32
        /// The end of the row's part of `keys`, which begins at the end of the previous row's part,
        /// or after the prefix.
        var end: UInt32
    }

    /// The columns that are equal in nearly all rows of a leaf.
    struct Mark: Equatable, Sendable {
        /// The upper half of the row's number.
        var high: UInt32
        var tag: UInt16

        init(_ number: UInt64, _ tag: UInt16) {
            high = UInt32(truncatingIfNeeded: number >> 32)
            self.tag = tag
        }
    }

    /// The slot of the section that owns the leaf.
    var section: UInt32
    /// The last known index of the leaf in its section; verified before use.
    var hint: UInt32 = 0
    /// The length of the common prefix of all keys, in bytes.
    private(set) var prefix: UInt32 = 0
    private(set) var entries: [Entry] = []
    /// The common prefix of all keys, followed by the rest of each key.
    private(set) var keys: [UInt8] = []
    /// The mark of all rows, if `marks` is empty.
    private var mark = Mark(0, 0)
    private var marks: [Mark] = []

    init(section: UInt32) {
        self.section = section
    }

    /// Creates a leaf of sorted rows, without spare capacity.
    init(section: UInt32, rows: ArraySlice<ResultRow>) {
        self.section = section
        guard let first = rows.first, let last = rows.last else { return }
        let common = first.sortKey.withUnsafeBytes { first in
            last.sortKey.withUnsafeBytes { commonPrefix(first, $0) }
        }
        prefix = UInt32(common)
        keys.reserveCapacity(
            rows.reduce(common) { $0 + $1.sortKey.count } - common * rows.count)
        keys.append(contentsOf: first.sortKey[..<common])
        entries.reserveCapacity(rows.count)
        for row in rows {
            keys.append(contentsOf: row.sortKey[common...])
            entries.append(
                Entry(low: UInt32(truncatingIfNeeded: row.number), end: UInt32(keys.count)))
        }
        mark = Mark(first.number, first.entityTag)
        if rows.contains(where: { Mark($0.number, $0.entityTag) != mark }) {
            marks = rows.map { Mark($0.number, $0.entityTag) }
        }
        checkInvariants()
        assert(!Invariants.walk(count) || isSorted(around: 0..<count), "The rows are sorted.")
    }

    /// Creates a leaf of a non-empty range of sorted placements, without spare capacity.
    init(section: UInt32, places: ListPlacements, _ part: Range<Int>) {
        self.section = section
        assert(
            !part.isEmpty && part.upperBound <= places.count, "The range is valid and not empty.")
        places.withKeys { all, ends in
            func key(_ at: Int) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(
                    rebasing: all[(at == 0 ? 0 : Int(ends[at - 1]))..<Int(ends[at])])
            }
            let head = UnsafeRawBufferPointer(
                rebasing: key(part.lowerBound)[
                    ..<commonPrefix(key(part.lowerBound), key(part.upperBound - 1))])
            prefix = UInt32(head.count)
            let bytes = part.reduce(head.count) { $0 + key($1).count - head.count }
            keys = [UInt8](unsafeUninitializedCapacity: bytes) { room, end in
                let room = UnsafeMutableRawBufferPointer(room)
                end = room.write(head, at: 0)
                entries = [Entry](unsafeUninitializedCapacity: part.count) { entries, made in
                    for at in part {
                        let tail = UnsafeRawBufferPointer(rebasing: key(at)[head.count...])
                        end = room.write(tail, at: end)
                        let low = UInt32(truncatingIfNeeded: places.numbers[at])
                        entries.initializeElement(
                            at: made, to: Entry(low: low, end: UInt32(end)))
                        made += 1
                    }
                }
            }
        }
        mark = Mark(places.numbers[part.lowerBound], places.object(part.lowerBound).tag)
        let isOneTag = places.tagRuns.count == 1
        if isOneTag, part.allSatisfy({ Mark(places.numbers[$0], mark.tag) == mark }) { return }
        let all = part.map { Mark(places.numbers[$0], places.object($0).tag) }
        if all.contains(where: { $0 != mark }) { marks = all }
    }

    /// Asserts that the columns are consistent with each other; called after every change.
    private func checkInvariants() {
        assert(
            Int(entries.last?.end ?? prefix) == keys.count,
            "The keys end with the last row's part.")
        assert(
            marks.isEmpty || marks.count == entries.count,
            "Each row has a mark, or all rows share one.")
    }

    /// Returns whether the rows of a range and the rows next to it are sorted by key, then number.
    private func isSorted(around range: Range<Int>) -> Bool {
        (max(range.lowerBound, 1)..<min(range.upperBound + 1, count)).allSatisfy { at in
            withKey(at) { order(at - 1, to: $0, number(at)) } <= 0
        }
    }

    /// The number of rows.
    var count: Int { entries.count }

    /// The size of the keys in bytes.
    var keyBytes: Int { keys.count }

    var isFull: Bool {
        count >= Leaf.capacity || (count >= 8 && keys.count >= Leaf.keyCapacity)
    }

    var isSmall: Bool {
        count < Leaf.capacity / 4 && keys.count < Leaf.keyCapacity / 4
    }

    /// Returns the number of a row.
    @inline(__always)
    func number(_ at: Int) -> UInt64 {
        UInt64(marks.isEmpty ? mark.high : marks[at].high) << 32 | UInt64(entries[at].low)
    }

    /// Returns the entity tag of a row.
    func tag(_ at: Int) -> UInt16 { marks.isEmpty ? mark.tag : marks[at].tag }

    /// Returns the key of a row.
    func key(_ at: Int) -> [UInt8] {
        withKey(at) { parts in
            [UInt8](unsafeUninitializedCapacity: parts.head.count + parts.tail.count) {
                room, count in
                let room = UnsafeMutableRawBufferPointer(room)
                room.copyMemory(from: parts.head)
                UnsafeMutableRawBufferPointer(rebasing: room[parts.head.count...])
                    .copyMemory(from: parts.tail)
                count = parts.head.count + parts.tail.count
            }
        }
    }

    /// Calls `body` with the two parts of a row's key.
    @inline(__always)
    func withKey<Value>(_ at: Int, _ body: (KeyParts) -> Value) -> Value {
        let (head, range) = (Int(prefix), suffix(at))
        return keys.withUnsafeBytes { keys in
            body(
                KeyParts(
                    head: UnsafeRawBufferPointer(rebasing: keys[..<head]),
                    tail: UnsafeRawBufferPointer(rebasing: keys[range])))
        }
    }

    mutating func insert(_ row: ResultRow, at: Int) {
        if entries.isEmpty {
            self = Leaf(section: section, rows: [row])
            return
        }
        share(row.sortKey)
        let start = suffixStart(at)
        let length = UInt32(row.sortKey.count - Int(prefix))
        row.sortKey.withUnsafeBytes { key in
            keys.insert(UnsafeRawBufferPointer(rebasing: key[Int(prefix)...]), at: start)
        }
        shiftEnds(from: at) { $0 &+ length }
        let low = UInt32(truncatingIfNeeded: row.number)
        entries.insert(Entry(low: low, end: UInt32(start) + length), at: at)
        defer {
            checkInvariants()
            assert(isSorted(around: at..<at + 1), "The row is inserted between its neighbours.")
        }
        let mark = Mark(row.number, row.entityTag)
        if marks.isEmpty {
            if mark == self.mark { return }
            marks = [Mark](repeating: self.mark, count: count - 1)
        }
        marks.insert(mark, at: at)
    }

    mutating func remove(at: Int) {
        let range = suffix(at)
        let length = UInt32(range.count)
        keys.removeSubrange(range)
        entries.remove(at: at)
        if !marks.isEmpty { marks.remove(at: at) }
        shiftEnds(from: at) { $0 &- length }
        checkInvariants()
    }

    /// Returns the rows at and after an index, without their sections' names.
    func rows(from start: Int) -> [ResultRow] {
        (start..<count).map { at in
            ResultRow(number: number(at), entityTag: tag(at), sortKey: key(at))
        }
    }

    /// Removes the upper half and returns it as a new leaf.
    mutating func split() -> Leaf {
        assert(count >= 2, "Both halves have rows.")
        let half = count / 2
        let upper = Leaf(section: section, rows: rows(from: half)[...])
        keys.removeSubrange(suffixStart(half)...)
        entries.removeSubrange(half...)
        if !marks.isEmpty { marks.removeSubrange(half...) }
        checkInvariants()
        return upper
    }

    /// Appends the rows of the next leaf.
    mutating func append(_ next: Leaf) {
        self = Leaf(section: section, rows: (rows(from: 0) + next.rows(from: 0))[...])
    }

    /// Shortens the prefix to its common prefix with a key.
    private mutating func share(_ key: [UInt8]) {
        let prefix = Int(prefix)
        let common = keys.withUnsafeBytes { keys in
            key.withUnsafeBytes { key in
                commonPrefix(UnsafeRawBufferPointer(rebasing: keys[..<prefix]), key)
            }
        }
        if common == prefix { return }
        var wider: [UInt8] = []
        wider.reserveCapacity(keys.count + (count + 1) * (prefix - common) + key.count)
        wider += keys[..<common]
        for at in entries.indices {
            wider += keys[common..<prefix]
            wider += keys[suffix(at)]
        }
        let gained = UInt32(prefix - common)
        for at in entries.indices { entries[at].end += UInt32(at) * gained }
        assert(
            wider.count == Int(entries.last?.end ?? UInt32(common)),
            "Each key includes the end of the former prefix.")
        (keys, self.prefix) = (wider, UInt32(common))
    }

    @inline(__always)
    private func suffixStart(_ at: Int) -> Int { Int(at == 0 ? prefix : entries[at - 1].end) }

    @inline(__always)
    func suffix(_ at: Int) -> Range<Int> { suffixStart(at)..<Int(entries[at].end) }

    @inline(__always)
    private mutating func shiftEnds(from at: Int, _ shift: (UInt32) -> UInt32) {
        entries.withUnsafeMutableBufferPointer { entries in
            for index in at..<entries.count { entries[index].end = shift(entries[index].end) }
        }
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Copies bytes to an offset; returns the end.
    @inline(__always)
    fileprivate func write(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Int {
        UnsafeMutableRawBufferPointer(rebasing: self[start...]).copyMemory(from: bytes)
        return start + bytes.count
    }
}

extension [UInt8] {
    /// Inserts bytes at an offset; the bytes after it are moved once.
    fileprivate mutating func insert(_ bytes: UnsafeRawBufferPointer, at start: Int) {
        let (end, count) = (self.count, bytes.count)
        append(contentsOf: bytes)
        if start == end { return }
        withUnsafeMutableBytes { all in
            UnsafeMutableRawBufferPointer(rebasing: all[(start + count)...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: all[start..<end]))
            UnsafeMutableRawBufferPointer(rebasing: all[start...]).copyMemory(from: bytes)
        }
    }
}

/// A short sorted run of rows with their keys in one buffer.
struct Leaf: Sendable {
    /// Rows in a full leaf: few enough that shifting them costs tens of nanoseconds.
    static let capacity = 128
    /// Rows in a leaf made in bulk: room for inserts before it must be split.
    static let bulkFill = 96
    /// Key bytes above which a leaf with several rows is split as well, as shifting them costs too.
    static let keyCapacity = 16 * 1024

    struct Entry: Sendable {
        var number: UInt64
        /// Where the row's key ends in `keys`; it begins where that of the row before ends.
        var keyEnd: UInt32
        var tag: UInt16
    }

    /// The slot of the section that owns the leaf.
    var section: UInt32
    var entries: [Entry] = []
    var keys: [UInt8] = []

    init(section: UInt32) {
        self.section = section
    }

    /// Makes a leaf of sorted rows, without slack.
    init(section: UInt32, rows: ArraySlice<ResultRow>) {
        self.section = section
        entries.reserveCapacity(rows.count)
        keys.reserveCapacity(rows.reduce(0) { $0 + $1.sortKey.count })
        for row in rows {
            keys.append(contentsOf: row.sortKey)
            entries.append(
                Entry(number: row.number, keyEnd: UInt32(keys.count), tag: row.entityTag))
        }
    }

    var isFull: Bool {
        entries.count >= Leaf.capacity || (entries.count >= 8 && keys.count >= Leaf.keyCapacity)
    }

    var isSmall: Bool {
        entries.count < Leaf.capacity / 4 && keys.count < Leaf.keyCapacity / 4
    }

    func keyStart(_ at: Int) -> Int { at == 0 ? 0 : Int(entries[at - 1].keyEnd) }

    func keyRange(_ at: Int) -> Range<Int> { keyStart(at)..<Int(entries[at].keyEnd) }

    @inline(__always)
    func withKey<Value>(_ at: Int, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        let range = keyRange(at)
        return keys.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Compares the row at `at` with a key and a number.
    @inline(__always)
    func order(_ at: Int, to key: UnsafeRawBufferPointer, _ number: UInt64) -> Int {
        let order = withKey(at) { compareKeys($0, key) }
        if order != 0 { return order }
        let mine = entries[at].number
        return mine == number ? 0 : mine < number ? -1 : 1
    }

    /// The place of a number, found without its key: numbers lie side by side.
    func position(of number: UInt64) -> Int? {
        entries.withUnsafeBufferPointer { entries in
            for at in entries.indices where entries[at].number == number { return at }
            return nil
        }
    }

    /// The first place whose row does not stand before the key and number.
    func lowerBound(_ key: UnsafeRawBufferPointer, _ number: UInt64) -> Int {
        entries.indices.partition { order($0, to: key, number) >= 0 }
    }

    mutating func insert(_ row: ResultRow, at: Int) {
        let start = keyStart(at)
        let length = UInt32(row.sortKey.count)
        keys.insert(contentsOf: row.sortKey, at: start)
        shiftKeys(from: at) { $0 &+ length }
        entries.insert(
            Entry(number: row.number, keyEnd: UInt32(start) + length, tag: row.entityTag), at: at)
    }

    mutating func remove(at: Int) {
        let range = keyRange(at)
        let length = UInt32(range.count)
        keys.removeSubrange(range)
        entries.remove(at: at)
        shiftKeys(from: at) { $0 &- length }
    }

    /// Takes the upper half out as a leaf of its own.
    mutating func split() -> Leaf {
        let half = entries.count / 2
        let start = keyStart(half)
        var upper = Leaf(section: section)
        upper.entries = Array(entries[half...])
        upper.keys = Array(keys[start...])
        upper.shiftKeys(from: 0) { $0 &- UInt32(start) }
        entries.removeSubrange(half...)
        keys.removeSubrange(start...)
        return upper
    }

    /// Appends the rows of the leaf behind this one.
    mutating func append(_ next: Leaf) {
        let start = UInt32(keys.count)
        let count = entries.count
        entries.append(contentsOf: next.entries)
        keys.append(contentsOf: next.keys)
        shiftKeys(from: count) { $0 &+ start }
    }

    @inline(__always)
    private mutating func shiftKeys(from at: Int, _ shift: (UInt32) -> UInt32) {
        entries.withUnsafeMutableBufferPointer { entries in
            for index in at..<entries.count { entries[index].keyEnd = shift(entries[index].keyEnd) }
        }
    }
}

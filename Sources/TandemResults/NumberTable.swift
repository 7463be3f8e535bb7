/// Finds where a number is kept, in five bytes a number: a hash table of places that holds no numbers.
///
/// A bucket is 32 bits: the place, in as few bits as all places need, and a part of the number's hash in the others. So a
/// place that is found is a guess, which the owner confirms by looking for the number there. It is wrong once in tens of
/// thousands of lookups in lists of a million rows, and costs nothing but the look.
///
/// Open addressing with linear probing, at most seven eighths full (Knuth, The Art of Computer Programming 3, 6.4; keeping a part of
/// the hash in place of the key is what cuckoo and quotient filters do). Looking up, inserting and removing cost O(1). Numbers that
/// aren't kept can't be hashed anew: when there is no room left, the owner fills another table.
struct NumberTable: Sendable {
    private static let empty: UInt32 = 0
    /// What was removed; it keeps those behind it within reach.
    private static let gone: UInt32 = 1
    /// What is added to places, to tell them from the two above.
    private static let offset = 2

    /// How many numbers are in it.
    private(set) var count = 0
    private var buckets: [UInt32] = []
    private var goneCount = 0
    private var placeBits: UInt32 = 2

    /// An empty table without room.
    init() {}

    /// An empty table with room for some numbers at the first places.
    init(room: Int, places: Int) {
        buckets = [UInt32](repeating: NumberTable.empty, count: room + room / 4 + 4)
        let largest = UInt64(places + NumberTable.offset)
        placeBits = UInt32(64 - largest.leadingZeroBitCount)
        precondition(placeBits <= 32, "a list has at most 4,294,967,293 leaves")
    }

    /// The place of a number, where `holds` confirms it.
    @inline(__always)
    func place(of number: UInt64, _ holds: (Int) -> Bool) -> Int? {
        if buckets.isEmpty { return nil }
        let probe = Probe(number, buckets.count, placeBits)
        return buckets.withUnsafeBufferPointer { buckets in
            var at = probe.start
            while true {
                let bucket = buckets[at]
                if bucket == NumberTable.empty { return nil }
                if bucket & ~probe.places == probe.mark, bucket != NumberTable.gone {
                    let place = Int(bucket & probe.places) - NumberTable.offset
                    if holds(place) { return place }
                }
                at &+= 1
                if at == buckets.count { at = 0 }
            }
        }
    }

    /// Whether there is room for so many more.
    func hasRoom(for more: Int) -> Bool { (count + goneCount + more) * 8 <= buckets.count * 7 }

    /// Puts in a number that is not in it; false if there is no room for it.
    mutating func insert(_ number: UInt64, at place: Int) -> Bool {
        guard hasRoom(for: 1), fits(place) else { return false }
        let probe = Probe(number, buckets.count, placeBits)
        var at = probe.start
        while buckets[at] > NumberTable.gone { at = next(at) }
        if buckets[at] == NumberTable.gone { goneCount -= 1 }
        buckets[at] = probe.bucket(place)
        count += 1
        return true
    }

    /// Puts a number into a table that has room, and of which nothing was removed, unless it is there: false where `holds` finds it.
    @inline(__always)
    mutating func insertNew(_ number: UInt64, at place: Int, unless holds: (Int) -> Bool) -> Bool {
        let probe = Probe(number, buckets.count, placeBits)
        var at = probe.start
        while buckets[at] != NumberTable.empty {
            let alike = buckets[at] & ~probe.places == probe.mark
            if alike, holds(Int(buckets[at] & probe.places) - NumberTable.offset) { return false }
            at = next(at)
        }
        buckets[at] = probe.bucket(place)
        count += 1
        return true
    }

    /// Notes that a number is at another place now; false if there is no room for such a place.
    mutating func move(_ number: UInt64, from old: Int, to new: Int) -> Bool {
        guard fits(new) else { return false }
        let probe = Probe(number, buckets.count, placeBits)
        buckets[bucket(old, probe)] = probe.bucket(new)
        return true
    }

    /// Takes a number out that is in it.
    mutating func remove(_ number: UInt64, at place: Int) {
        var at = bucket(place, Probe(number, buckets.count, placeBits))
        count -= 1
        buckets[at] = NumberTable.gone
        goneCount += 1
        guard buckets[next(at)] == NumberTable.empty else { return }
        // Nothing is behind them, so that nobody has to pass.
        while buckets[at] == NumberTable.gone {
            buckets[at] = NumberTable.empty
            goneCount -= 1
            at = at == 0 ? buckets.count - 1 : at - 1
        }
    }

    /// The bucket of a number at a place.
    ///
    /// Of two numbers that look alike either one's will do: both are reached from both.
    private func bucket(_ place: Int, _ probe: Probe) -> Int {
        let wanted = probe.bucket(place)
        var at = probe.start
        while buckets[at] != wanted {
            precondition(buckets[at] != NumberTable.empty, "a number is not where it was put")
            at = next(at)
        }
        return at
    }

    private func fits(_ place: Int) -> Bool {
        UInt64(place + NumberTable.offset) >> UInt64(placeBits) == 0
    }

    @inline(__always)
    private func next(_ at: Int) -> Int { at &+ 1 == buckets.count ? 0 : at &+ 1 }

    /// Where a number is looked for, and what its bucket looks like.
    private struct Probe {
        let start: Int
        let mark: UInt32
        let places: UInt32

        @inline(__always)
        init(_ number: UInt64, _ count: Int, _ placeBits: UInt32) {
            // Two rounds of multiplying and folding: close numbers differ in all bits afterwards.
            var hash = number &* 0x9E37_79B9_7F4A_7C15
            hash = (hash ^ hash >> 32) &* 0xD6E8_FEB8_6659_FD93
            start = Int(truncatingIfNeeded: ((hash >> 32) &* UInt64(count)) >> 32)
            mark = UInt32(truncatingIfNeeded: hash ^ hash >> 32) << placeBits
            places = (1 << placeBits) &- 1
        }

        @inline(__always)
        func bucket(_ place: Int) -> UInt32 {
            mark | UInt32(truncatingIfNeeded: place + NumberTable.offset)
        }
    }
}

/// A hash table from numbers to places that does not store the numbers, and takes five bytes per
/// number.
///
/// A place is the index of a leaf or block in the owner's array. A bucket has 32 bits: the place,
/// in as few bits as the largest place needs, and a part of the number's hash in the other bits. A
/// place that is found is therefore a guess, which the owner verifies by looking for the number
/// there. In a list of a million rows, one in tens of thousands of lookups guesses wrong, which
/// only costs an extra search.
///
/// The table uses open addressing with linear probing, and is at most seven eighths full (Knuth,
/// The Art of Computer Programming 3, 6.4). Cuckoo and quotient filters also store a part of the
/// hash instead of the key. Looking up, inserting and removing cost O(1). The table can't be
/// rehashed without the numbers: if it is full, the owner fills a new one.
struct NumberTable: Sendable {
    private static let empty: UInt32 = 0
    /// A tombstone, which keeps the buckets after it reachable.
    private static let tombstone: UInt32 = 1
    /// The number added to places to distinguish them from empty buckets and tombstones.
    private static let offset = 2

    /// The number of entries.
    private(set) var count = 0
    private var buckets: [UInt32] = []
    private var tombstoneCount = 0
    private var placeBits: UInt32 = 2

    /// Creates an empty table without capacity.
    init() {}

    /// Creates an empty table with room for `room` numbers at places below `places`.
    init(room: Int, places: Int) {
        buckets = [UInt32](repeating: NumberTable.empty, count: room + room / 4 + 4)
        let largest = UInt64(places + NumberTable.offset)
        placeBits = UInt32(64 - largest.leadingZeroBitCount)
        precondition(placeBits <= 32, "A list has at most 4,294,967,293 leaves.")
    }

    /// Returns the place of a number for which `holds` returns true; nil if there is none.
    @inline(__always)
    func index(of number: UInt64, _ holds: (Int) -> Bool) -> Int? {
        if buckets.isEmpty { return nil }
        let probe = Probe(number, buckets.count, placeBits)
        return buckets.withUnsafeBufferPointer { buckets in
            var at = probe.start
            while true {
                let bucket = buckets[at]
                if bucket == NumberTable.empty { return nil }
                if bucket & ~probe.places == probe.mark, bucket != NumberTable.tombstone {
                    let place = Int(bucket & probe.places) - NumberTable.offset
                    if holds(place) { return place }
                }
                at &+= 1
                if at == buckets.count { at = 0 }
            }
        }
    }

    /// Returns whether there is room for `more` entries.
    func hasRoom(for more: Int) -> Bool { (count + tombstoneCount + more) * 8 <= buckets.count * 7 }

    /// Inserts a number that is not in the table; returns false if there is no room.
    mutating func insert(_ number: UInt64, at place: Int) -> Bool {
        guard hasRoom(for: 1), fits(place) else { return false }
        let probe = Probe(number, buckets.count, placeBits)
        var at = probe.start
        while buckets[at] > NumberTable.tombstone { at = next(at) }
        if buckets[at] == NumberTable.tombstone { tombstoneCount -= 1 }
        buckets[at] = probe.bucket(place)
        count += 1
        checkInvariants()
        return true
    }

    /// Asserts that every probe ends and that the counts are right.
    private func checkInvariants() {
        assert(count + tombstoneCount < buckets.count, "Every probe ends at an empty bucket.")
        assert(
            !Invariants.walk(buckets.count)
                || buckets.count { $0 > NumberTable.tombstone } == count
                    && buckets.count { $0 == NumberTable.tombstone } == tombstoneCount,
            "The counts are those of the buckets in use and of the tombstones.")
    }

    /// Inserts a number unless `holds` finds it; returns whether it was inserted.
    ///
    /// The table must have room, and no number may have been removed from it.
    @inline(__always)
    mutating func insertNew(_ number: UInt64, at place: Int, unless holds: (Int) -> Bool) -> Bool {
        assert(hasRoom(for: 1) && fits(place), "The table was made with room for the number.")
        assert(tombstoneCount == 0, "There are no tombstones, because nothing was removed.")
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

    /// Changes the place of a number; returns false if the new place has too many bits.
    mutating func move(_ number: UInt64, from old: Int, to new: Int) -> Bool {
        guard fits(new) else { return false }
        let probe = Probe(number, buckets.count, placeBits)
        buckets[bucket(old, probe)] = probe.bucket(new)
        return true
    }

    /// Removes a number that is in the table.
    mutating func remove(_ number: UInt64, at place: Int) {
        var at = bucket(place, Probe(number, buckets.count, placeBits))
        count -= 1
        buckets[at] = NumberTable.tombstone
        tombstoneCount += 1
        guard buckets[next(at)] == NumberTable.empty else { return }
        // The bucket after these tombstones is empty, so no probe has to pass them.
        while buckets[at] == NumberTable.tombstone {
            buckets[at] = NumberTable.empty
            tombstoneCount -= 1
            at = at == 0 ? buckets.count - 1 : at - 1
        }
        checkInvariants()
    }

    /// Returns the bucket of a number at a place.
    ///
    /// If two numbers have equal bucket contents, the result may be either's bucket, because both
    /// are reachable from both numbers.
    private func bucket(_ place: Int, _ probe: Probe) -> Int {
        let wanted = probe.bucket(place)
        var at = probe.start
        while buckets[at] != wanted {
            precondition(buckets[at] != NumberTable.empty, "The number is not in the table.")
            at = next(at)
        }
        return at
    }

    private func fits(_ place: Int) -> Bool {
        UInt64(place + NumberTable.offset) >> UInt64(placeBits) == 0
    }

    @inline(__always)
    private func next(_ at: Int) -> Int { at &+ 1 == buckets.count ? 0 : at &+ 1 }

    /// The first bucket to probe for a number, and the contents of a matching one.
    private struct Probe {
        let start: Int
        let mark: UInt32
        let places: UInt32

        @inline(__always)
        init(_ number: UInt64, _ count: Int, _ placeBits: UInt32) {
            // Two rounds of multiplying and folding spread small differences over all bits.
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

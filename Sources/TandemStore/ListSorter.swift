import Glibc
import TandemModel
import TandemQuery

/// Puts the objects of one group after the other in order and appends them to a list, some at a time.
///
/// Groups come in order already where the index has the order of the list, or the opposite one: those are not sorted.
///
/// State: `entries` are those of the group under way, which are collected up to `next`; while `large` is there they are being put in order in
/// steps; once `isOrdered`, `appended` says how many of them are in the list.
struct ListSorter {
    private struct Entry {
        /// The first 16 bytes of the rest of the key as numbers, with zeros behind a shorter one: most comparisons end there.
        var head: (UInt64, UInt64)
        /// Where the record is.
        var at: Int
    }

    /// In which order entries came.
    private enum Arrival {
        /// Each behind the one before.
        case ascending
        /// Each before the one before.
        case descending
        case mixed
    }

    /// The next record that is collected.
    private struct Next {
        /// Which of the group's segments, and how many of its records were collected.
        var (segment, taken) = (0, 0)
        var at = 0
    }

    private let records: ListRecords
    private let givesKeys: Bool
    private var entries: [Entry] = []
    private var arrival = Arrival.ascending
    private var next = Next()
    private var isOrdered = false
    private var appended = 0
    private var large: StepSort<Entry>?

    /// So many entries are put in order, or collected or appended, for one of a budget.
    private static var sortedForOne: Int { 4 }
    private static var passedForOne: Int { 16 }
    /// More entries than this are put in order in steps.
    private static var mostInOneGo: Int { 4_096 }
    /// So many are handed to the list at once.
    private static var handedAtOnce: Int { 64 }

    /// A sorter of these records, which get no more; without keys what it gives is the order alone.
    init(_ records: ListRecords, givesKeys: Bool = true) {
        self.records = records
        self.givesKeys = givesKeys
    }

    /// About the bytes that it holds.
    var bytes: Int { entries.count * MemoryLayout<Entry>.stride + (large?.bytes ?? 0) }

    /// Appends the objects of a group's segments in order; false when the budget was used up before, or the list had so many bytes, to be
    /// called with the same again.
    mutating func append(
        _ segments: ArraySlice<ListSegment>, _ prefix: [UInt8], to places: inout ListPlaces,
        upTo bytes: Int = .max, _ budget: inout Int
    ) -> Bool {
        segments.withUnsafeBufferPointer { segments in
            if !isOrdered {
                guard collect(segments, &budget), putInOrder(&budget) else { return false }
                isOrdered = true
            }
            guard fill(&places, segments, prefix, upTo: bytes, &budget) else { return false }
            end()
            return true
        }
    }

    private mutating func end() {
        entries.removeAll(keepingCapacity: entries.count <= Self.mostInOneGo)
        (arrival, next, isOrdered, appended) = (.ascending, Next(), false, 0)
    }

    /// How many of `left` entries are passed now, which is taken from the budget; a small group is passed whole, and that is part of what sorting it takes.
    private func share(of left: Int, in count: Int, _ budget: inout Int) -> Int {
        guard count > Self.mostInOneGo else { return left }
        let share = min(left, min(max(1, budget), left) * Self.passedForOne)
        budget -= (share + Self.passedForOne - 1) / Self.passedForOne
        return share
    }

    /// Adds what was taken from the budget for entries of a group that were not passed.
    private func giveBack(_ left: Int, of count: Int, _ budget: inout Int) {
        guard count > Self.mostInOneGo else { return }
        budget += left / Self.passedForOne
    }

    // MARK: Collecting

    /// Collects the entries of a group; true when it has all.
    private mutating func collect(
        _ segments: UnsafeBufferPointer<ListSegment>, _ budget: inout Int
    ) -> Bool {
        if large != nil { return true }
        let count = segments.reduce(0) { $0 + $1.count }
        guard entries.count < count else { return true }
        entries.reserveCapacity(count)
        var left = share(of: count - entries.count, in: count, &budget)
        while left > 0 {
            let segment = segments[next.segment]
            if next.taken == 0 { next.at = segment.start }
            let taken = min(left, segment.count - next.taken)
            collect(taken)
            left -= taken
            next.taken += taken
            if next.taken == segment.count {
                (next.segment, next.taken) = (next.segment + 1, 0)
            }
        }
        return entries.count == count
    }

    /// Collects the next records of a segment.
    private mutating func collect(_ count: Int) {
        guard count > 0 else { return }
        let (start, pile) = (entries.count, records.pile)
        var at = next.at
        entries.append(addingCapacity: count) { span in
            for _ in 0..<count {
                let rest = pile.rest(at)
                span.append(Entry(head: (rest.keyNumber(at: 0), rest.keyNumber(at: 8)), at: at))
                at = pile.next(at)
            }
        }
        next.at = at
        noteArrival(from: start, pile)
    }

    /// Notes in which order entries from one on came.
    private mutating func noteArrival(from start: Int, _ pile: ListRecordPile) {
        guard arrival != .mixed, entries.count > 1 else { return }
        arrival = entries.withUnsafeBufferPointer { entries in
            var arrival = arrival
            for at in max(1, start)..<entries.count {
                let came: Arrival =
                    Self.precedes(entries[at - 1], entries[at], pile) ? .ascending : .descending
                if at == 1 { arrival = came }
                guard came == arrival else { return .mixed }
            }
            return arrival
        }
    }

    // MARK: Order

    /// Puts what was collected in order, unless it came so; true when that is done.
    private mutating func putInOrder(_ budget: inout Int) -> Bool {
        if entries.count <= Self.mostInOneGo, large == nil {
            budget -= (entries.count + Self.sortedForOne - 1) / Self.sortedForOne
            guard arrival == .mixed else { return true }
            entries.withUnsafeMutableBufferPointer { [pile = records.pile] entries in
                entries.sort { Self.precedes($0, $1, pile) }
            }
            return true
        }
        guard arrival == .mixed else { return true }
        if large == nil {
            large = StepSort(entries) { [records] in Self.precedes($0, $1, records.pile) }
            entries = []
        }
        guard large?.step(&budget) ?? true else { return false }
        entries = large?.whole ?? []
        large = nil
        return true
    }

    /// The order of keys by bytes, then of objects.
    @inline(__always)
    private static func precedes(_ a: Entry, _ b: Entry, _ pile: ListRecordPile) -> Bool {
        if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
        if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
        return precedesBehindHead(a, b, pile)
    }

    @inline(never)
    private static func precedesBehindHead(
        _ a: Entry, _ b: Entry, _ pile: ListRecordPile
    ) -> Bool {
        let (left, right) = (pile.rest(a.at), pile.rest(b.at))
        let shared = min(left.count, right.count)
        if shared > 16, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left + 16, right + 16, shared - 16)
            if order != 0 { return order < 0 }
        }
        guard left.count == right.count else { return left.count < right.count }
        return pile.object(a.at) < pile.object(b.at)
    }

    // MARK: Filling

    /// Appends entries in their order; true when all are in the list.
    private mutating func fill(
        _ places: inout ListPlaces, _ segments: UnsafeBufferPointer<ListSegment>,
        _ prefix: [UInt8], upTo bytes: Int, _ budget: inout Int
    ) -> Bool {
        let count = entries.count
        let end = appended + share(of: count - appended, in: count, &budget)
        defer { giveBack(end - appended, of: count, &budget) }
        prefix.withUnsafeBytes { prefix in
            withUnsafeTemporaryAllocation(
                of: ListPlaces.Placed.self, capacity: min(Self.handedAtOnce, end - appended)
            ) { placed in
                while appended < end, places.bytes < bytes {
                    let some = min(placed.count, end - appended)
                    let handed = UnsafeMutableBufferPointer(rebasing: placed[..<some])
                    describe(handed, segments)
                    places.append(
                        UnsafeBufferPointer(handed), prefix: prefix, givesKeys: givesKeys)
                    appended += some
                }
            }
        }
        return appended == count
    }

    /// Says of the next entries in their order what the list keeps of them.
    private func describe(
        _ room: UnsafeMutableBufferPointer<ListPlaces.Placed>,
        _ segments: UnsafeBufferPointer<ListSegment>
    ) {
        let (pile, isReversed) = (records.pile, arrival == .descending)
        entries.withUnsafeBufferPointer { entries in
            for place in 0..<room.count {
                let ordinal = appended + place
                let at = entries[isReversed ? entries.count - 1 - ordinal : ordinal].at
                let segment = segments.count == 1 ? segments[0] : segments.holding(at)
                room.initializeElement(
                    at: place,
                    to: ListPlaces.Placed(
                        pile.object(at), rest: pile.rest(at), section: segment.section,
                        link: segment.link))
            }
        }
    }
}

extension UnsafeBufferPointer<ListSegment> {
    /// The segment that a record is of; segments ascend by where they begin.
    fileprivate func holding(_ record: Int) -> ListSegment {
        var (low, high) = (0, count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if self[middle].start <= record { low = middle } else { high = middle }
        }
        return self[low]
    }
}

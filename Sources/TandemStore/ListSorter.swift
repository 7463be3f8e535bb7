import Glibc
import TandemModel
import TandemQuery

/// Puts the objects of one group after the other in order and appends them to a list, some at a time.
///
/// State: `entries` are those of the group under way, and `appended` says how many of them are in the list; while `large` is there they are being put in
/// order in steps.
struct ListSorter {
    private struct Entry {
        /// The first 16 bytes of the rest of the key as numbers, with zeros behind a shorter one: most comparisons end there.
        var head: (UInt64, UInt64)
        /// Where the record is.
        var at: Int
        var section: UInt32
        var link: UInt32
    }

    private let records: ListRecords
    private let givesKeys: Bool
    private var entries: [Entry] = []
    private var appended = 0
    private var large: StepSort<Entry>?

    /// So many entries are put in order, or appended, for one of a budget.
    private static var sortedForOne: Int { 4 }
    private static var appendedForOne: Int { 16 }
    /// More entries than this are put in order in steps.
    private static var mostInOneGo: Int { 4_096 }

    /// A sorter of these records, which get no more; without keys what it gives is the order alone.
    init(_ records: ListRecords, givesKeys: Bool = true) {
        self.records = records
        self.givesKeys = givesKeys
    }

    /// About the bytes that it holds.
    var bytes: Int { entries.count * MemoryLayout<Entry>.stride + (large?.bytes ?? 0) }

    /// Appends the objects of a group's segments in order; false when the budget was used up before, to be called with the same again.
    mutating func append(
        _ segments: ArraySlice<ListSegment>, _ prefix: [UInt8], to places: inout ListPlaces,
        _ budget: inout Int
    ) -> Bool {
        if entries.isEmpty {
            for segment in segments { collect(segment) }
            if entries.count > Self.mostInOneGo {
                large = StepSort(entries) { [records] in Self.precedes($0, $1, records) }
            } else {
                budget -= (entries.count + Self.sortedForOne - 1) / Self.sortedForOne
                entries.sort { [records] in Self.precedes($0, $1, records) }
            }
        }
        if large != nil {
            guard large?.step(&budget) ?? true else { return false }
            entries = large?.whole ?? []
            large = nil
        }
        guard fill(&places, prefix, &budget) else { return false }
        entries.removeAll(keepingCapacity: entries.count <= Self.mostInOneGo)
        appended = 0
        return true
    }

    private mutating func collect(_ segment: ListSegment) {
        var at = segment.start
        for _ in 0..<segment.count {
            let rest = records.rest(at)
            entries.append(
                Entry(
                    head: (rest.keyNumber(at: 0), rest.keyNumber(at: 8)), at: at,
                    section: segment.section, link: segment.link))
            at = records.next(at)
        }
    }

    private mutating func fill(
        _ places: inout ListPlaces, _ prefix: [UInt8], _ budget: inout Int
    ) -> Bool {
        var end = entries.count
        if end > Self.mostInOneGo {
            let left = end - appended
            end = appended + min(left, min(max(1, budget), left) * Self.appendedForOne)
            budget -= (end - appended + Self.appendedForOne - 1) / Self.appendedForOne
        }
        prefix.withUnsafeBytes { prefix in
            entries.withUnsafeBufferPointer { entries in
                places.append(
                    appended..<end, prefix: prefix, givesKeys: givesKeys,
                    object: { records.object(entries[$0].at) },
                    rest: { records.rest(entries[$0].at) }, section: { entries[$0].section },
                    link: { entries[$0].link })
            }
        }
        appended = end
        return appended == entries.count
    }

    // MARK: Order

    /// The order of keys by bytes, then of objects.
    @inline(__always)
    private static func precedes(_ a: Entry, _ b: Entry, _ records: ListRecords) -> Bool {
        if a.head.0 != b.head.0 { return a.head.0 < b.head.0 }
        if a.head.1 != b.head.1 { return a.head.1 < b.head.1 }
        return precedesBehindHead(a, b, records)
    }

    @inline(never)
    private static func precedesBehindHead(
        _ a: Entry, _ b: Entry, _ records: ListRecords
    ) -> Bool {
        let (left, right) = (records.rest(a.at), records.rest(b.at))
        let shared = min(left.count, right.count)
        if shared > 16, let left = left.baseAddress, let right = right.baseAddress {
            let order = memcmp(left + 16, right + 16, shared - 16)
            if order != 0 { return order < 0 }
        }
        guard left.count == right.count else { return left.count < right.count }
        return records.object(a.at) < records.object(b.at)
    }
}

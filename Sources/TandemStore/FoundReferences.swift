public import TandemModel

/// The objects that a fetch found, given in the request's order some at a time, whatever becomes of the store meanwhile.
///
/// State:
/// - `again`, `position`: what was judged more than once, and how far it was gone through for what matches.
/// - `late`, `sort`: that, at first in no order, then in the request's.
/// - `first`, `second`: how much was given of what was judged once, and of what was judged more often.
public struct FoundReferences {
    typealias Match = FetchMatches.Match
    private let keys: SortKeyArena
    private let once: [Match]
    private let again: [ObjectReference: Match?]
    private let heldBytes: Int
    private var position: Dictionary<ObjectReference, Match?>.Index
    private var late: [Match] = []
    private var sort: StepSort<Match>?
    private var ordered: [Match]?
    private var (first, second) = (0, 0)

    /// So many are given, or gone through, for one of a budget.
    private static var elementsForOne: Int { 8 }

    init(
        _ once: [Match], _ again: [ObjectReference: Match?], _ keys: SortKeyArena, bytes: Int
    ) {
        self.keys = keys
        self.once = once
        self.again = again
        heldBytes = bytes
        position = again.startIndex
    }

    /// About the bytes that it holds.
    public var bytes: Int {
        heldBytes + (late.count + (ordered?.count ?? 0)) * MemoryLayout<Match>.stride
            + (sort?.bytes ?? 0)
    }

    /// Gives the next ones until the budget is used up, or until one is not taken; true when there are no more or one was not
    /// taken.
    public mutating func step(
        _ budget: inout Int, _ take: (ObjectReference) throws -> Bool
    ) rethrows -> Bool {
        guard collect(&budget), let ordered else { return false }
        while first < once.count || second < ordered.count {
            guard budget > 0 else { return false }
            budget -= 1
            for _ in 0..<Self.elementsForOne {
                guard let object = next(ordered) else { continue }
                guard try take(object) else { return true }
            }
        }
        return true
    }

    /// Puts what was judged more than once in order; true when that is done.
    private mutating func collect(_ budget: inout Int) -> Bool {
        if ordered != nil { return true }
        while sort == nil {
            guard budget > 0 else { return false }
            budget -= 1
            for _ in 0..<Self.elementsForOne where position < again.endIndex {
                if let match = again[position].value { late.append(match) }
                again.formIndex(after: &position)
            }
            guard position == again.endIndex else { continue }
            sort = StepSort(late, by: keys.precedes)
            late = []
        }
        guard sort?.step(&budget) ?? true else { return false }
        ordered = sort?.whole ?? []
        sort = nil
        return true
    }

    /// The next one; nil for one whose last judgement is another.
    private mutating func next(_ ordered: [Match]) -> ObjectReference? {
        guard first < once.count else {
            guard second < ordered.count else { return nil }
            second += 1
            return ordered[second - 1].object
        }
        let match = once[first]
        if again.index(forKey: match.object) != nil {
            first += 1
            return nil
        }
        if second < ordered.count, keys.precedes(ordered[second], match) {
            second += 1
            return ordered[second - 1].object
        }
        first += 1
        return match.object
    }
}

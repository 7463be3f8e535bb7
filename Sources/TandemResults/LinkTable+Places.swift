public import TandemModel
public import TandemQuery

/// What the objects of a list reach by one of its hops, as the parts of an answer say it: a ``LinkTable`` that is not made yet.
///
/// A list that is opened needs to know which objects are reached, and only the first change of one of them by which rows.
/// It takes 8 bytes a row.
///
///     let links = PlacedLinks([places], reached: places.reached, hop: 0)
///     links.isReached(7)              // true
///     links.table.rows(for: 7)        // [33]
public struct PlacedLinks: Sendable {
    private struct Part: Sendable {
        let numbers: [ObjectNumber]
        let runs: [ListPlaces.Run]
    }

    private let parts: [Part]
    private let reached: [ObjectReference]
    private let isReached: Set<ObjectNumber>

    /// The links of a hop, in parts one behind the other that lead to some of those reached; O(runs + reached).
    public init(_ parts: [ListPlaces], reached: [ObjectReference], hop: Int) {
        self.parts = parts.map { Part(numbers: $0.numbers, runs: $0.linkRuns[hop]) }
        self.reached = reached
        var isLinked = [Bool](repeating: false, count: reached.count + 1)
        for part in self.parts { for run in part.runs { isLinked[Int(run.value)] = true } }
        isReached = Set(reached.indices.lazy.filter { isLinked[$0 + 1] }.map { reached[$0].number })
    }

    /// Every object that a row reaches, once.
    public var objects: some Collection<ObjectNumber> { isReached }

    /// Whether any row reaches an object.
    public func isReached(_ object: ObjectNumber) -> Bool { isReached.contains(object) }

    /// The table; O(n): links are put in order by counting those to each object.
    public var table: LinkTable {
        let links = sortedLinks()
        // Of places that contradict themselves the sum is made the long way.
        let isInOrder = zip(links, links.dropFirst()).allSatisfy { $0 < $1 }
        if isInOrder, let table = LinkTable(sorted: links[...]) { return table }
        return LinkTable(links)
    }

    /// The links by object and row, if nothing is named twice.
    private func sortedLinks() -> [LinkTable.Link] {
        var ends = linkEnds()
        let total = ends.last ?? 0
        var links = [LinkTable.Link](
            repeating: LinkTable.Link(row: 0, object: 0), count: total)
        let numbers = parts.flatMap(\.numbers)
        let places = places()
        // From the last on, so that each end moves down to where its object's links begin.
        for index in ascendingOrder(of: numbers).reversed() {
            let place = Int(places[Int(index)])
            if place == 0 { continue }
            ends[place] -= 1
            links[ends[place]] = LinkTable.Link(
                row: numbers[Int(index)], object: reached[place - 1].number)
        }
        return links
    }

    /// The place among those reached for each object of the list.
    private func places() -> [UInt32] {
        var places: [UInt32] = []
        places.reserveCapacity(parts.reduce(0) { $0 + $1.numbers.count })
        forEachRun { places.append(contentsOf: repeatElement($0, count: $1)) }
        return places
    }

    /// By place, where the links to an object end once they are sorted by the objects' numbers; the last is the end of all.
    private func linkEnds() -> [Int] {
        var ends = [Int](repeating: 0, count: reached.count + 2)
        forEachRun { ends[Int($0)] += $1 }
        var end = 0
        for at in ascendingOrder(of: reached.map(\.number)) {
            end += ends[Int(at) + 1]
            ends[Int(at) + 1] = end
        }
        ends[reached.count + 1] = end
        return ends
    }

    /// Calls `body` with the place that objects reach, and how many they are.
    private func forEachRun(_ body: (UInt32, Int) -> Void) {
        for part in parts {
            var start = 0
            for run in part.runs {
                body(run.value, run.end - start)
                start = run.end
            }
        }
    }
}

public import TandemModel
package import TandemQuery

/// The links of a list's objects for one hop, as received in an answer; a ``LinkTable`` is built
/// from them on demand.
///
/// Opening a list requires only the set of reached objects. The rows that refer to one of these
/// objects are needed only after the object changed. This form takes 8 bytes per row.
///
///     let links = UnindexedLinks([places], reached: places.reached, hop: 0)
///     links.isReached(7)              // true
///     links.table.rows(for: 7)        // [33]
@usableFromInline package struct UnindexedLinks: Sendable {
    private struct Part: Sendable {
        let numbers: [ObjectNumber]
        let runs: [ListPlacements.Run]
    }

    private let parts: [Part]
    private let reached: [ObjectReference]
    private let isReached: Set<ObjectNumber>

    /// Creates the links of a hop from consecutive chunks whose links are 1-based indexes in
    /// `reached`.
    ///
    /// Cost: O(runs + reached).
    package init(_ parts: [ListPlacements], reached: [ObjectReference], hop: Int) {
        self.parts = parts.map { Part(numbers: $0.numbers, runs: $0.linkRuns[hop]) }
        self.reached = reached
        var isLinked = [Bool](repeating: false, count: reached.count + 1)
        for part in self.parts { for run in part.runs { isLinked[Int(run.value)] = true } }
        isReached = Set(reached.indices.lazy.filter { isLinked[$0 + 1] }.map { reached[$0].number })
    }

    /// The distinct objects to which rows refer.
    @usableFromInline package var objects: some Collection<ObjectNumber> { isReached }

    /// Returns whether any row refers to an object.
    package func isReached(_ object: ObjectNumber) -> Bool { isReached.contains(object) }

    /// The links as a table; cost: O(n), because a counting sort orders the links by object.
    package var table: LinkTable {
        let links = sortedLinks()
        // Contradictory placements are sorted by comparison, which is slower.
        let isInOrder = zip(links, links.dropFirst()).allSatisfy { $0 < $1 }
        if isInOrder, let table = LinkTable(sorted: links[...]) { return table }
        return LinkTable(links)
    }

    /// Returns the links sorted by object, then row, if no row occurs twice.
    private func sortedLinks() -> [LinkTable.Link] {
        var ends = linkEnds()
        let total = ends.last ?? 0
        var links = [LinkTable.Link](
            repeating: LinkTable.Link(row: 0, object: 0), count: total)
        let numbers = parts.flatMap(\.numbers)
        let linkByRow = linkByRow()
        // Go backwards, so that each end moves down to the start of its object's links.
        for index in ascendingOrder(of: numbers).reversed() {
            let link = Int(linkByRow[Int(index)])
            if link == 0 { continue }
            ends[link] -= 1
            links[ends[link]] = LinkTable.Link(
                row: numbers[Int(index)], object: reached[link - 1].number)
        }
        return links
    }

    /// Returns the link of each row: the 1-based index of its object in `reached`, or 0.
    private func linkByRow() -> [UInt32] {
        var links: [UInt32] = []
        links.reserveCapacity(parts.reduce(0) { $0 + $1.numbers.count })
        forEachRun { links.append(contentsOf: repeatElement($0, count: $1)) }
        return links
    }

    /// Returns, for each index of `reached` plus one, the end of the links to that object after
    /// sorting; the last element is the total.
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

    /// Calls `body` with the link of each run and the number of its rows.
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

import TandemModel
public import TandemQuery

extension LinkTable {
    /// Makes a table of what the objects of a list reach by one of its hops.
    ///
    /// O(n): links are put in order by counting those to each object.
    public init(_ places: ListPlaces, hop: Int) {
        let links = places.sortedLinks(hop: hop)
        // Of places that contradict themselves the sum is made the long way.
        let isInOrder = zip(links, links.dropFirst()).allSatisfy { $0 < $1 }
        if isInOrder, let table = LinkTable(sorted: links[...]) {
            self = table
        } else {
            self.init(links)
        }
    }
}

extension ListPlaces {
    /// The links of a hop by object and row, if nothing is named twice.
    fileprivate func sortedLinks(hop: Int) -> [LinkTable.Link] {
        var ends = linkEnds(hop: hop)
        let total = ends.last ?? 0
        var links = [LinkTable.Link](
            repeating: LinkTable.Link(row: 0, object: 0), count: total)
        let places = self.places(hop: hop)
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
    private func places(hop: Int) -> [UInt32] {
        var places: [UInt32] = []
        places.reserveCapacity(count)
        for run in linkRuns[hop] {
            places.append(contentsOf: repeatElement(run.value, count: run.end - places.count))
        }
        return places
    }

    /// By place, where the links to an object end once they are sorted by the objects' numbers; the last is the end of all.
    private func linkEnds(hop: Int) -> [Int] {
        var ends = [Int](repeating: 0, count: reached.count + 2)
        var start = 0
        for run in linkRuns[hop] {
            ends[Int(run.value)] += run.end - start
            start = run.end
        }
        var end = 0
        for at in ascendingOrder(of: reached.map(\.number)) {
            end += ends[Int(at) + 1]
            ends[Int(at) + 1] = end
        }
        ends[reached.count + 1] = end
        return ends
    }
}

import TandemModel
import TandemQuery
import TandemResults

/// A list without the values of its rows: where each stands, and what it reaches.
struct PlacedList {
    var rows: [ResultRow]
    /// What the rows reach; without hops if that is not known.
    var links: KeptLinks

    init(rows: [ResultRow], links: KeptLinks) {
        self.rows = rows
        self.links = links
    }

    /// A list as the daemon gives it.
    init(_ places: ListPlaces) {
        rows = (0..<places.count).map { index in
            let object = places.object(index)
            return ResultRow(
                number: object.number, entityTag: object.tag, sortKey: Array(places.key(index)),
                section: places.sections[Int(places.sectionPlace(index))])
        }
        links = KeptLinks()
        (links.objects, links.hops) = (places.reached, places.hops)
        links.places = (0..<places.count).flatMap { places.links($0) }
    }
}

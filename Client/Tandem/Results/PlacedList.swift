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
        rows = places.objects.indices.map { index in
            let object = places.objects[index]
            return ResultRow(
                number: object.number, entityTag: object.tag, sortKey: Array(places.key(index)),
                section: places.sections[Int(places.sectionPlace(index))])
        }
        links = KeptLinks()
        (links.objects, links.hops, links.places) = (places.reached, places.hops, places.links)
    }
}

import TandemModel
import TandemQuery
import TandemResults

/// A list without the values of its rows: where each stands, and what it reaches.
struct PlacedList {
    private enum Form {
        case rows([ResultRow], KeptLinks)
        case places(ListPlaces)
    }

    private let form: Form

    init(rows: [ResultRow], links: KeptLinks) { form = .rows(rows, links) }

    /// A list as the daemon gives it.
    init(_ places: ListPlaces) { form = .places(places) }

    /// The list as the daemon gave it, from which it is made without anything for a single row; nil for one that comes from elsewhere.
    var places: ListPlaces? { if case .places(let places) = form { places } else { nil } }

    /// The rows; they are made here of places, which takes several allocations for each.
    var rows: [ResultRow] {
        switch form {
        case .rows(let rows, _): rows
        case .places(let places):
            (0..<places.count).map { index in
                let object = places.object(index)
                return ResultRow(
                    number: object.number, entityTag: object.tag,
                    sortKey: Array(places.key(index)),
                    section: places.sections[Int(places.sectionPlace(index))])
            }
        }
    }

    /// What the rows reach; without hops if that is not known.
    var links: KeptLinks {
        switch form {
        case .rows(_, let links): return links
        case .places(let places):
            var links = KeptLinks()
            (links.objects, links.hops) = (places.reached, places.hops)
            links.places = (0..<places.count).flatMap { places.links($0) }
            return links
        }
    }
}

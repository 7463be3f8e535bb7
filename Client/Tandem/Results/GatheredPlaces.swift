import TandemModel
import TandemQuery
import TandemResults

/// Where the objects of an answer stand, as it came, in one part or many, with the list that is made of each part as it comes.
///
/// It costs the places until the list stands; the parts are not put together.
struct GatheredPlaces {
    /// What the parts lead to: the names of sections, and what is reached.
    let sections: [String]
    let reached: [ObjectReference]
    /// How many hops there are from an object.
    let hops: Int
    private(set) var parts: [ListPlaces] = []
    private var builder: SectionedListBuilder

    /// The places of an answer that has come whole, or of one in parts of which nothing came yet.
    init(_ places: ListPlaces, sectioned: Bool, count: Int) {
        (sections, reached, hops) = (places.sections, places.reached, places.hops)
        builder = SectionedListBuilder(sectioned: sectioned, sections: sections, count: count)
        append(places)
    }

    mutating func append(_ part: ListPlaces) {
        guard part.count > 0 else { return }
        parts.append(part)
        builder.append(part)
    }

    /// The list; nil where the objects are out of order.
    var list: SectionedList? { builder.list }

    /// The rows; they are made here of places, which takes several allocations for each.
    var rows: [ResultRow] {
        parts.flatMap { part in
            (0..<part.count).map { index in
                let object = part.object(index)
                return ResultRow(
                    number: object.number, entityTag: object.tag, sortKey: Array(part.key(index)),
                    section: sections[Int(part.sectionPlace(index))])
            }
        }
    }

    /// What the rows reach; without hops if that is not known.
    var kept: KeptLinks {
        var links = KeptLinks()
        (links.objects, links.hops) = (reached, hops)
        links.places = parts.flatMap { part in (0..<part.count).flatMap { part.links($0) } }
        return links
    }

    /// What the rows reach by a hop.
    func links(hop: Int) -> PlacedLinks { PlacedLinks(parts, reached: reached, hop: hop) }
}

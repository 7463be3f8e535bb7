import TandemModel
import TandemQuery
import TandemResults

/// The placements of an answer's objects, collected as its chunks arrive, and the list built from
/// them.
///
/// The placements are kept until the list is complete; the chunks are not joined.
struct ReceivedPlacements {
    /// The section names to which the chunks refer.
    let sections: [String]
    let reached: [ObjectReference]
    /// The number of hops for which the chunks contain links of each object.
    let hopCount: Int
    private(set) var chunks: [ListPlacements] = []
    private var builder: SectionedListBuilder

    /// Creates the placements of a complete answer, or of the head of a chunked answer.
    init(_ placements: ListPlacements, sectioned: Bool, count: Int) {
        (sections, reached) = (placements.sections, placements.reached)
        hopCount = placements.hopCount
        builder = SectionedListBuilder(sectioned: sectioned, sections: sections, count: count)
        append(placements)
    }

    mutating func append(_ chunk: ListPlacements) {
        guard chunk.count > 0 else { return }
        chunks.append(chunk)
        builder.append(chunk)
    }

    /// The list; nil if the objects are out of order.
    var list: SectionedList? { builder.list }

    /// The rows, created from the placements with several allocations for each row.
    var rows: [ResultRow] {
        chunks.flatMap { chunk in
            (0..<chunk.count).map { index in
                let object = chunk.object(index)
                return ResultRow(
                    number: object.number, entityTag: object.tag, sortKey: Array(chunk.key(index)),
                    section: sections[Int(chunk.sectionIndex(index))])
            }
        }
    }

    /// The links of the rows, in the form stored in a cache; `hopCount` is 0 if the links are
    /// unknown.
    var cachedLinks: CachedLinks {
        var links = CachedLinks()
        (links.objects, links.hopCount) = (reached, hopCount)
        links.objectIndices = chunks.flatMap { chunk in
            (0..<chunk.count).flatMap { chunk.links($0) }
        }
        return links
    }

    /// Returns the links of one hop.
    func links(hop: Int) -> UnindexedLinks { UnindexedLinks(chunks, reached: reached, hop: hop) }
}

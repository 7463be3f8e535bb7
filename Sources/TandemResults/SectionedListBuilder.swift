package import TandemQuery

/// A builder of a list from the placements of an answer, chunk by chunk.
///
/// A large answer consists of chunks. If each is appended while the next one is being received, the
/// list is ready soon after the last chunk. If the objects are in order, the result equals that of
/// ``SectionedList/init(sectioned:rows:)`` for the same rows, at a fraction of the cost. The result
/// does not depend on the division into chunks.
///
///     var builder = SectionedListBuilder(sectioned: true, sections: head.sections, count: 100_000)
///     while let part = next() { builder.append(part) }
///     let list = builder.list
///
/// State: `rows` are the rows so far; nil if they can't become a list.
package struct SectionedListBuilder: Sendable {
    private var rows: RowStoreBuilder?
    private let sections: [String]
    private let count: Int

    /// Creates a builder for about `count` objects; the ``ListPlacements/sectionRuns`` of chunks
    /// are indexes in `sections`.
    package init(sectioned: Bool, sections: [String], count: Int) {
        rows = RowStoreBuilder(sectioned: sectioned)
        (self.sections, self.count) = (sections, count)
    }

    /// Appends the objects of a chunk, or of a whole answer.
    ///
    /// Cost: O(objects), without an allocation per object.
    package mutating func append(_ part: ListPlacements) {
        guard rows?.append(part, names: sections, expecting: count) == false else { return }
        rows = nil
    }

    /// The list so far; nil if objects are out of order, or an object or a section occurs twice.
    package var list: SectionedList? {
        guard let rows = rows?.store else { return nil }
        var list = SectionedList(sectioned: rows.isSectioned)
        list.rows = rows
        list.checkInvariants()
        return list
    }
}

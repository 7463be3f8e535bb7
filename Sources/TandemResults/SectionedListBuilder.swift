package import TandemQuery

/// A builder of a list from the placements of an answer, chunk by chunk.
///
/// A large answer consists of chunks: if each is added while the next one is being received, the
/// list is ready soon after the last. If the objects are in order, the result is the list that
/// ``SectionedList/init(sectioned:rows:)`` makes from the same rows, at a fraction of its cost. It
/// does not depend on how the answer was divided.
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

    /// Creates an empty list that expects about `count` objects; ``ListPlacements/sectionRuns`` of
    /// their chunks are indexes in `sections`.
    package init(sectioned: Bool, sections: [String], count: Int) {
        rows = RowStoreBuilder(sectioned: sectioned)
        (self.sections, self.count) = (sections, count)
    }

    /// Appends the objects of a chunk; a whole answer is one chunk.
    ///
    /// Cost: O(objects), without an allocation per object.
    package mutating func append(_ part: ListPlacements) {
        guard rows?.append(part, names: sections, expecting: count) == false else { return }
        rows = nil
    }

    /// The list so far; nil unless it is in order, without repeated objects or sections.
    package var list: SectionedList? {
        guard let rows = rows?.store else { return nil }
        var list = SectionedList(sectioned: rows.isSectioned)
        list.rows = rows
        list.checkInvariants()
        return list
    }
}

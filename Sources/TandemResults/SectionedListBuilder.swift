public import TandemQuery

/// Makes a list of the places of an answer, part by part as these come.
///
/// A large answer comes in parts: whoever makes the list of one while the next is under way has it soon after the last. Where objects are in
/// order it is the list that ``SectionedList/init(sectioned:rows:)`` makes of the same rows, at a fraction of its cost, however the answer was cut.
///
///     var builder = SectionedListBuilder(sectioned: true, sections: head.sections, count: 100_000)
///     while let part = next() { builder.append(part) }
///     let list = builder.list
///
/// State: `rows` are those so far; nil once they can't become a list.
public struct SectionedListBuilder: Sendable {
    private var rows: RowStore?
    private let sections: [String]
    private let count: Int

    /// An empty list to which about so many objects will come; ``ListPlaces/sectionRuns`` of their parts lead to the names of sections.
    public init(sectioned: Bool, sections: [String], count: Int) {
        rows = RowStore(sectioned: sectioned)
        (self.sections, self.count) = (sections, count)
    }

    /// Puts the objects of a part behind the others; a whole answer is one part.
    ///
    /// O(objects), and no allocation for one.
    public mutating func append(_ part: ListPlaces) {
        guard rows?.append(part, names: sections, expecting: count) == false else { return }
        rows = nil
    }

    /// The list of what came so far; nil unless that is in order, each object is there once, and no section comes back after another.
    public var list: SectionedList? {
        guard let rows else { return nil }
        var list = SectionedList(sectioned: rows.isSectioned)
        list.rows = rows
        return list
    }
}

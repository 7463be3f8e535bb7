public import TandemModel
public import TandemResults

extension FetchedResultsController {
    /// One title per section for an index beside the list, in order; several sections may have the same one.
    ///
    /// ``section(forSectionIndexTitle:at:)`` leads from a title to its section. Cost: O(sections).
    public var sectionIndexTitles: [String] {
        visible.sections.map { sectionIndexTitle(forSectionName: $0.name) }
    }

    /// The title of a section in the index: what the delegate says, else the upper-cased first character of the name, `""` for `""`.
    public func sectionIndexTitle(forSectionName name: String) -> String {
        delegate?.controller(self, sectionIndexTitleForSectionName: name)
            ?? FetchedResultsSection.indexTitle(of: name)
    }

    /// The section that an entry of the index leads to.
    ///
    /// - Parameters:
    ///   - title: The title that was chosen.
    ///   - index: Its place in ``sectionIndexTitles``.
    /// - Returns: The place of the section; where the index is an older one, that of the first section of the title. Nil when no
    ///   section has the title any more.
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let titles = sectionIndexTitles
        if titles.indices.contains(index), titles[index] == title { return index }
        return titles.firstIndex(of: title)
    }

    // MARK: Flat form

    /// The sections as parts of one list: names, offsets and counts without ids; O(sections).
    public var sectionRanges: [ResultsSection] { Array(visible.sections) }

    /// The object at a place of the whole list, counted over all sections; one outside it traps.
    public func object(atOffset offset: Int) -> ManagedObject {
        object(at: visible.path(atOffset: offset))
    }

    /// The ids of a part of the whole list, as for the rows that are on the screen; cut to what there is.
    ///
    /// Cost: O(part).
    public func objectIDs(in range: Range<Int>) -> [ObjectID] {
        guard let model = plan?.compiled.model else { return [] }
        return visible.references(in: range).map { model.id(of: $0) }
    }

    /// How many rows of the whole list stand before an object; nil when it is not in the list.
    public func offset(of id: ObjectID) -> Int? { visible.offset(of: id.number) }
}

public import TandemModel
import TandemResults

extension FetchedResultsController {
    /// The titles for a section index beside the list, one per section in order; several sections
    /// may have the same title.
    ///
    /// ``section(forSectionIndexTitle:at:)`` returns the section for a title. Cost: O(sections).
    public var sectionIndexTitles: [String] {
        visible.sections.map { sectionIndexTitle(forSectionName: $0.name) }
    }

    /// Returns the index title of a section: the delegate's title or, without one, the upper-cased
    /// first character of the name (`""` for an empty name).
    public func sectionIndexTitle(forSectionName name: String) -> String {
        delegate?.controller(self, sectionIndexTitleForSectionName: name)
            ?? FetchedResultsSection.indexTitle(of: name)
    }

    /// Returns the index of the section that belongs to an entry of the section index.
    ///
    /// - Parameters:
    ///   - title: The title that was chosen.
    ///   - index: The index of the title in ``sectionIndexTitles``.
    /// - Returns: The index of the section. If `index` is outdated, it is the first section with
    ///   the title, or nil if no section has the title any more.
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let titles = sectionIndexTitles
        if titles.indices.contains(index), titles[index] == title { return index }
        return titles.firstIndex(of: title)
    }

    // MARK: Flat form

    /// The names of the sections, and the ranges of their rows in the whole list; O(sections).
    public var sectionRanges: [(name: String, range: Range<Int>)] {
        visible.sections.map { ($0.name, $0.range) }
    }

    /// Returns the object at an offset in the whole list, counted over all sections; traps if the
    /// offset is out of range.
    public func object(atOffset offset: Int) -> Object {
        object(at: visible.path(atOffset: offset))
    }

    /// Returns the ids of a range of the whole list, for example of the rows on the screen; the
    /// range is clamped.
    ///
    /// Cost: O(length of the range).
    public func objectIDs(in range: Range<Int>) -> [ObjectID] {
        guard let model = follower.plan?.compiled.model else { return [] }
        return visible.references(in: range).map { model.id(of: $0) }
    }

    /// Returns the number of rows before an object in the whole list, or nil if it is not in the
    /// list.
    public func offset(of id: ObjectID) -> Int? { visible.offset(of: id.number) }

    /// Returns the sum of an attribute over a section, or over the whole list; it includes the
    /// edits that the list shows.
    ///
    /// - Parameters:
    ///   - property: One of ``sumProperties``.
    ///   - section: The index of the section; nil for the whole list. An index out of range traps.
    /// - Returns: A number of the attribute's type, or a double if integers overflow. Null if no
    ///   row has a value; nil if the property is not summed.
    ///
    /// Cost: O(rows of the section) after a change, then O(1) until the next change.
    public func sum(of property: String, inSection section: Int? = nil) -> PropertyValue? {
        follower.list.sum(of: property, inSection: section)
    }

    /// Returns a sequence of all changes from now on, for one reader on any actor.
    ///
    /// Applied in order to the sections at the time of the call, the changes produce each later
    /// state. The sequence includes the first list, later fetches of the whole list, failures and
    /// recoveries (``ControllerChange/error``). The sequence ends when the controller is released
    /// or the reader is cancelled, and throws `limitExceeded` if the reader lags further than the
    /// policy allows.
    public func changes(
        _ policy: ResultsPolicy = .every
    ) -> some AsyncSequence<ControllerChange, any Error> & Sendable {
        follower.list.outbox.feeds.makeChanges(policy)
    }

    /// Returns a sequence of signals that something changed, failed or recovered, for readers that
    /// read the whole list each time.
    ///
    /// Unread signals are merged into one. The sequence has one reader. It ends when the controller
    /// is released or the reader is cancelled.
    public func signals() -> some AsyncSequence<Void, Never> & Sendable {
        follower.list.outbox.feeds.makeSignals()
    }
}

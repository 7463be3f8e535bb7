/// One section of a list: its identifier, where it begins, and its elements.
///
/// It is the list as it was when ``SectionedFetchResults/sections`` was asked, also after a change: ask again then. Who keeps it makes
/// the next change copy the list's numbers.
public struct ResultsSectionView<SectionIdentifier: Hashable, Element>: RandomAccessCollection,
    Identifiable
{
    let results: SectionedFetchResults<SectionIdentifier, Element>
    let shown: ShownResults<SectionIdentifier, Element>
    let range: Range<Int>

    /// What the section is called.
    public let id: SectionIdentifier

    /// How many elements of the whole list stand before it.
    public var offset: Int { range.lowerBound }

    /// 0.
    public var startIndex: Int { 0 }

    /// The number of its elements.
    public var endIndex: Int { range.count }

    /// An element of the section; a place outside it traps.
    public subscript(position: Int) -> Element {
        precondition(
            position >= 0 && position < range.count,
            "There is no element \(position) in a section of \(range.count).")
        results.access()
        return results.element(
            at: range.lowerBound + position, of: shown.content, shown.list)
    }
}

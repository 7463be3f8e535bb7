/// One section of a list: its identifier, where it begins, and its elements.
///
/// It is a view of the list as it was when ``SectionedFetchResults/sections`` was asked: ask again after a change.
public struct ResultsSectionView<SectionIdentifier: Hashable, Element>: RandomAccessCollection,
    Identifiable
{
    let results: SectionedFetchResults<SectionIdentifier, Element>
    let range: Range<Int>
    let known: SectionIdentifier?

    /// What the section is called.
    public var id: SectionIdentifier { known ?? results.identifier(of: range) }

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
        return results[range.lowerBound + position]
    }
}

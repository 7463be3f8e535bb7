import TandemModel

/// One section of a list: its identifier, its offset, and its elements.
///
/// A section is a snapshot of the list at the time when ``SectionedFetchResults/sections`` was
/// read, and does not follow later changes. While a section is retained, the next change copies the
/// list's numbers.
public struct ResultsSectionView<SectionIdentifier: Hashable, Element>: RandomAccessCollection,
    Identifiable
{
    let results: SectionedFetchResults<SectionIdentifier, Element>
    let shown: ResultsViewState<SectionIdentifier, Element>
    let range: Range<Int>

    /// The identifier of the section.
    public let id: SectionIdentifier

    /// The number of elements before the section in the whole list.
    public var offset: Int { range.lowerBound }

    /// The index of the first element, always 0.
    public var startIndex: Int { 0 }

    /// The number of elements in the section.
    public var endIndex: Int { range.count }

    /// The elements of the section as an array; all elements are created.
    public var objects: [Element] { Array(self) }

    /// Returns an element of the section; an index out of range traps.
    public subscript(position: Int) -> Element {
        require(
            position >= 0 && position < range.count,
            "There is no element \(position) in a section of \(range.count) elements.")
        results.access()
        return results.element(
            at: range.lowerBound + position, of: shown.content, shown.list)
    }
}

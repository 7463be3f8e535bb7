import TandemModel

/// A section of a list: its name and the range of its rows in the whole list.
package struct ResultsSection: Hashable, Sendable {
    /// The section's name, which is its identity.
    package var name: String
    /// The number of rows before the section.
    package var offset: Int
    /// The number of rows in the section.
    package var count: Int

    /// Creates a section.
    package init(name: String, offset: Int, count: Int) {
        self.name = name
        self.offset = offset
        self.count = count
    }

    /// The range of the section's rows in the whole list.
    package var range: Range<Int> { offset..<(offset + count) }
}

/// The sections of a list, in order.
///
/// Iterating costs O(1) per section; access by index costs a sum over the counts of the preceding
/// sections. Don't keep the collection while the list is edited, because the edit then copies the
/// list.
package struct ResultsSections: RandomAccessCollection, Sendable {
    let rows: RowStore

    /// The index of the first section.
    package var startIndex: Int { 0 }
    /// The number of sections.
    package var endIndex: Int { rows.sectionCount }

    /// Returns the section at an index, which must exist.
    package subscript(index: Int) -> ResultsSection {
        require(
            index >= 0 && index < rows.sectionCount,
            "There is no section \(index) in a list of \(rows.sectionCount) sections.")
        return section(index, offset: rows.offset(ofSection: index))
    }

    /// Returns an iterator over the sections, which computes their offsets as it proceeds.
    package func makeIterator() -> AnyIterator<ResultsSection> {
        var index = 0
        var offset = 0
        return AnyIterator {
            guard index < rows.sectionCount else { return nil }
            defer { index += 1 }
            let section = section(index, offset: offset)
            offset += section.count
            return section
        }
    }

    private func section(_ index: Int, offset: Int) -> ResultsSection {
        ResultsSection(
            name: rows.name(of: rows.slot(ofSection: index)), offset: offset,
            count: rows.count(ofSection: index))
    }
}

extension SectionedList {
    /// The shown sections.
    package var sections: ResultsSections { ResultsSections(rows: visible) }

    /// Returns the index of the section with a name; nil if there is none.
    package func sectionIndex(named name: String) -> Int? {
        let rows = visible
        guard let slot = rows.slot(named: name) else { return nil }
        return rows.sectionIndex(of: slot)
    }

    /// The sections as names and numbers; cost: O(n).
    @usableFromInline package var sectionIDs: [SectionIDs] { visible.sectionIDs }

    /// All rows that the list has after all edits, in order; cost: O(n).
    package var allRows: [ResultRow] {
        var all: [ResultRow] = []
        all.reserveCapacity(rows.count)
        for ref in rows.sections.order {
            let slot = Int(ref.slot)
            for (index, leaf) in rows.sections.slots[slot].leaves.enumerated() {
                all += (0..<Int(leaf.count)).map { at in
                    rows.row(
                        at: .init(slot: slot, leafIndex: index, leaf: Int(leaf.leaf), at: at))
                }
            }
        }
        return all
    }

    /// Returns the numbers of all rows in a range of the whole list; cost: O(range).
    ///
    /// The range is clamped to the list.
    package func numbers(in range: Range<Int>) -> [UInt64] { references(in: range).map(\.number) }
}

extension RowStore {
    var sectionIDs: [SectionIDs] {
        sections.order.map { ref in
            let section = sections.slots[Int(ref.slot)]
            var numbers: [UInt64] = []
            numbers.reserveCapacity(Int(ref.count))
            for leaf in section.leaves {
                withLeaf(Int(leaf.leaf)) { rows in
                    for at in 0..<rows.count { numbers.append(rows.number(at)) }
                }
            }
            return SectionIDs(name: section.name, numbers: numbers)
        }
    }
}

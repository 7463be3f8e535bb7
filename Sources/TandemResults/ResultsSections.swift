/// A section as an entry of the flat form: its name, and which part of the rows it is.
public struct ResultsSection: Hashable, Sendable {
    /// The section's name, which is its identity.
    public var name: String
    /// How many rows stand before it.
    public var offset: Int
    /// How many rows it has.
    public var count: Int

    /// Makes a section.
    public init(name: String, offset: Int, count: Int) {
        self.name = name
        self.offset = offset
        self.count = count
    }

    /// The places of its rows in the whole list.
    public var range: Range<Int> { offset..<(offset + count) }
}

/// The sections of a list, in order.
///
/// Going through all costs O(1) each; getting at one costs a sum over the counts before it. It is a
/// value: holding it while the list is edited copies the list, so fetch it anew instead.
public struct ResultsSections: RandomAccessCollection, Sendable {
    let rows: RowStore

    /// The index of the first section.
    public var startIndex: Int { 0 }
    /// The number of sections.
    public var endIndex: Int { rows.order.count }

    /// The section at an index, which must exist.
    public subscript(index: Int) -> ResultsSection {
        precondition(
            rows.order.indices.contains(index),
            "there is no section \(index) in a list of \(rows.order.count) sections")
        return section(index, offset: rows.offset(ofSection: index))
    }

    /// Goes through the sections, adding offsets up on the way.
    public func makeIterator() -> AnyIterator<ResultsSection> {
        var index = 0
        var offset = 0
        return AnyIterator {
            guard index < rows.order.count else { return nil }
            defer { index += 1 }
            let section = section(index, offset: offset)
            offset += section.count
            return section
        }
    }

    private func section(_ index: Int, offset: Int) -> ResultsSection {
        let ref = rows.order[index]
        return ResultsSection(
            name: rows.sections[Int(ref.slot)].name, offset: offset, count: Int(ref.count))
    }
}

extension SectionedList {
    /// The sections that are shown.
    public var sections: ResultsSections { ResultsSections(rows: visible) }

    /// The index of the section of a name; nil when there is none.
    public func sectionIndex(named name: String) -> Int? {
        let rows = visible
        guard let slot = rows.slots[name] else { return nil }
        return rows.sectionIndex(of: slot)
    }

    /// The sections as names and numbers; cost O(n).
    public var sectionIDs: [SectionIDs] { visible.sectionIDs }

    /// Every row that the list holds after all edits, in order; cost O(n).
    public var allRows: [ResultRow] {
        var all: [ResultRow] = []
        all.reserveCapacity(rows.count)
        for ref in rows.order {
            let slot = Int(ref.slot)
            for (index, leaf) in rows.sections[slot].leaves.enumerated() {
                all += (0..<Int(leaf.count)).map { at in
                    rows.row(
                        at: .init(slot: slot, leafIndex: index, leaf: Int(leaf.leaf), at: at))
                }
            }
        }
        return all
    }

    /// The numbers of all rows of a part of the list, as for a window of it; cost O(window).
    ///
    /// The range is cut to what there is.
    public func numbers(in range: Range<Int>) -> [UInt64] { references(in: range).map(\.number) }
}

extension RowStore {
    var sectionIDs: [SectionIDs] {
        order.map { ref in
            let section = sections[Int(ref.slot)]
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

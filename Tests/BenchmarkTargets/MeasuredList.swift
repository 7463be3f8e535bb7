import TandemResults

/// A sectioned list of the library, without the objects of its rows.
public struct MeasuredList {
    private var list: SectionedList

    /// Creates a list of rows.
    public init(_ rows: [Row]) {
        list = SectionedList(sectioned: true, rows: rows.map(\.row))
    }

    /// The names of the sections, and the numbers of their rows.
    public var sections: [(name: String, numbers: [UInt64])] {
        list.sectionIDs.map { ($0.name, $0.numbers) }
    }

    /// Applies edits; returns the number of changed rows, or nil if the list did not change.
    public mutating func apply(_ edits: Edits) -> Int? {
        if case .changed(let change) = list.apply(edits.edits) { change.objects.count } else { nil }
    }

    /// A row with its sort key and the name of its section.
    public struct Row {
        fileprivate let row: ResultRow

        /// Creates a row.
        public init(number: UInt64, sortKey: [UInt8], section: String) {
            row = ResultRow(number: number, sortKey: sortKey, section: section)
        }
    }

    /// Rows that are added, changed and removed at once.
    public struct Edits {
        fileprivate var edits = ListEdits()

        /// Creates edits without rows.
        public init() {}

        /// Adds a row, or replaces the row with its number.
        public mutating func upsert(_ row: Row) { edits.upserted.append(row.row) }

        /// Removes the row with a number.
        public mutating func remove(_ number: UInt64) { edits.removed.append(number) }
    }
}

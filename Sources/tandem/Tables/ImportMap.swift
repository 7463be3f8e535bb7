import Tandem

/// What the files of a folder are: which objects their rows are, and where the values and links of these come from.
///
///     {"null": ["NA"],
///      "files": {"planes.csv": {"entity": "Plane", "attributes": {"tailnum": "tailnum", "built": {"year": "year"}}},
///                "flights.csv.gz": {"entity": "Flight", "attributes": {"number": "flight"},
///                    "relationships": {"plane": {"by": {"tailnum": "tailnum"}, "missing": "create"}}}}}
struct ImportMap: Equatable {
    /// Where the value of an attribute comes from.
    enum Source: Equatable {
        /// A cell, read as the attribute's type has it; texts that stand for certain values, and those that stand for none.
        case column(String, values: [String: JSON], nulls: Set<String>?)
        /// The parts of a date in UTC, each a column.
        case date([DatePart: String], partial: Partial)
        /// The same in every row.
        case constant(JSON)
    }

    /// A part of a date.
    enum DatePart: String, CaseIterable {
        case year, month, day, hour, minute, second
        /// Hours and minutes as one number: 517 is 5:17, and 2400 the end of the day.
        case time
    }

    /// The treatment of a date that has a year, but lacks another part.
    enum Partial: String, CaseIterable {
        /// The attribute has no value.
        case `nil`
        /// The row is rejected.
        case reject
        /// The first month, day, hour, minute or second.
        case first
    }

    /// What happens to a row whose link leads to nothing that is there.
    enum Missing: String, CaseIterable {
        /// It leads nowhere.
        case `nil`
        /// The row is rejected.
        case reject
        /// An object with the key and nothing else is made.
        case create
    }

    /// A to-one relationship, by a unique attribute of its destination.
    struct Link: Equatable {
        var name: String
        /// The attribute of the destination.
        var key: String
        /// The column that has its value.
        var column: String
        var missing: Missing
    }

    /// A file and what its rows are.
    struct Table: Equatable {
        /// Its name in the folder.
        var name: String
        var entity: String
        var attributes: [String: Source] = [:]
        var links: [Link] = []
        /// What stands for no value, besides an empty cell.
        var nulls: Set<String> = []
        /// What stands between cells.
        var delimiter = UInt8(ascii: ",")

        /// The columns that it needs.
        var columns: Set<String> {
            let ofAttributes = attributes.values.flatMap { source -> [String] in
                switch source {
                case .column(let name, _, _): [name]
                case .date(let parts, _): Array(parts.values)
                case .constant: []
                }
            }
            return Set(ofAttributes + links.map(\.column))
        }
    }

    var tables: [Table] = []
}

import Tandem

/// A map for importing the files of a folder: the entity of each file's rows, and the sources of
/// their values.
///
///     {"null": ["NA"],
///      "files": {
///        "planes.csv": {"entity": "Plane",
///           "attributes": {"tailnum": "tailnum", "built": {"year": "year"}}},
///        "flights.csv.gz": {"entity": "Flight",
///           "attributes": {"number": "flight"},
///           "relationships": {"plane": {"by": {"tailnum": "tailnum"}, "missing": "create"}}}}}
struct ImportMap: Equatable {
    /// The source of an attribute's value.
    enum Source: Equatable {
        /// A cell, parsed by the attribute's type; `values` replaces certain strings, and the
        /// strings in `nulls` mean null.
        case column(String, values: [String: JSON], nulls: Set<String>?)
        /// A date in UTC, composed of columns for its parts.
        case date([DatePart: String], partial: Partial)
        /// The same value in every row.
        case constant(JSON)
    }

    /// A part of a date.
    enum DatePart: String, CaseIterable {
        case year, month, day, hour, minute, second
        /// Hours and minutes as one number, such as 517 for 5:17 and 2400 for the end of the day.
        case time
    }

    /// The treatment of a date that has a year but lacks another part.
    enum Partial: String, CaseIterable {
        /// The attribute is null.
        case `nil`
        /// The row is rejected.
        case reject
        /// The missing part is the first month, day, hour, minute or second.
        case first
    }

    /// The treatment of a link whose destination does not exist.
    enum Missing: String, CaseIterable {
        /// The link is omitted.
        case `nil`
        /// The row is rejected.
        case reject
        /// An object is created in which only the key is set.
        case create
    }

    /// The source of a to-one relationship's targets: a unique attribute of the destination, and a
    /// column with its values.
    struct Link: Equatable {
        var name: String
        /// The attribute of the destination.
        var key: String
        /// The column that contains the attribute's value.
        var column: String
        var missing: Missing
    }

    /// A file and the objects that its rows describe.
    struct Table: Equatable {
        /// The name of the file in the folder.
        var name: String
        var entity: String
        var attributes: [String: Source] = [:]
        var links: [Link] = []
        /// The strings that mean null, in addition to an empty cell.
        var nulls: Set<String> = []
        /// The delimiter of cells.
        var delimiter = UInt8(ascii: ",")

        /// The columns that the map refers to.
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

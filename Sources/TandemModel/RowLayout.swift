/// Where the columns of an entity's rows lie.
///
/// A row is: model version (2 bytes), entity tag (2), null bitmap, fixed-width columns, for each variable column where it
/// ends (4 bytes each), variable columns. The null bitmap has a bit for each column, 1 for no value.
/// Where the end of a data or text column has ``blobFlag`` set, the column holds a ``BlobReference`` or a ``TextReference``
/// in the place of its content.
public struct RowLayout: Sendable {
    /// How a column is stored.
    @usableFromInline
    enum Storage: UInt8, Sendable, BitwiseCopyable {
        case bool, int, double, date, uuid, reference
        case decimal, string, data, url

        /// Whether what is too long for a row is kept outside.
        var mayBeLong: Bool { self == .data || self == .string }

        /// The width in the fixed part, 0 for a variable column.
        var width: Int {
            switch self {
            case .bool: 1
            case .int, .double, .date: 8
            case .uuid: 16
            case .reference: 10
            case .decimal, .string, .data, .url: 0
            }
        }
    }

    /// One column.
    struct Column: Sendable {
        let storage: Storage
        /// The bit in the null bitmap.
        let nullBit: Int
        /// The offset in the row of a fixed column; the place among the variable columns of another.
        let place: Int
    }

    static let headerBytes = 4
    /// What every row has at least: model version and tag.
    public static let minimumRowBytes = headerBytes
    /// The bit of a column's end that says that a blob stands there.
    @inlinable
    static var blobFlag: UInt32 { 1 << 31 }

    /// The column of each slot; nil for to-many relationships.
    let columns: [Column?]
    /// Where the ends of the variable columns begin.
    let endsOffset: Int
    /// How many variable columns there are.
    let variableCount: Int
    /// The slots of the variable columns.
    let variable: PropertyMask
    /// The slots of the columns of fixed width.
    let fixed: PropertyMask
    /// The columns that may hold a blob.
    let longColumns: [Column]
    /// The columns of variable width in the order of their places, in which not all bytes say something.
    let checkedColumns: [Column]

    /// Whether everything stands in the rows themselves.
    public var hasNoLongColumns: Bool { longColumns.isEmpty }

    /// The length of a row without the content of its variable columns.
    var minimumBytes: Int { endsOffset + 4 * variableCount }

    init(_ properties: [CompiledProperty]) {
        let storages = properties.map(RowLayout.storage)
        let columnCount = storages.count { $0 != nil }
        var columns: [Column?] = []
        var bit = 0
        var offset = RowLayout.headerBytes + (columnCount + 7) / 8
        var variable = 0
        for storage in storages {
            guard let storage else {
                columns.append(nil)
                continue
            }
            let isFixed = storage.width > 0
            columns.append(
                Column(storage: storage, nullBit: bit, place: isFixed ? offset : variable))
            bit += 1
            offset += storage.width
            variable += isFixed ? 0 : 1
        }
        self.columns = columns
        endsOffset = offset
        variableCount = variable
        self.variable = PropertyMask(
            columns.indices.filter { columns[$0]?.storage.width == 0 })
        fixed = PropertyMask(
            columns.indices.filter { columns[$0].map { $0.storage.width > 0 } ?? false })
        longColumns = columns.compactMap { $0?.storage.mayBeLong == true ? $0 : nil }
        checkedColumns = columns.compactMap { $0?.storage.width == 0 ? $0 : nil }
    }

    private static func storage(_ property: CompiledProperty) -> Storage? {
        switch property.kind {
        case .relationship(let relationship): relationship.toMany ? nil : .reference
        case .attribute(let attribute):
            switch attribute.type {
            case .bool: .bool
            case .int: .int
            case .double: .double
            case .decimal: .decimal
            case .string: .string
            case .date: .date
            case .data: .data
            case .uuid: .uuid
            case .url: .url
            }
        }
    }
}

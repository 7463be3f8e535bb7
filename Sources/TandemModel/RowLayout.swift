/// The layout of an entity's rows.
///
/// A row begins with the model version (2 bytes), the entity tag (2 bytes) and the null bitmap. The
/// fixed-width columns, the end offsets of the variable columns (4 bytes each) and the variable
/// columns follow. The null bitmap has a bit for each column, 1 for null. If ``blobFlag`` is set in
/// the end offset of a data or text column, the column contains a ``BlobReference`` or a
/// ``TextReference`` instead of the content.
@usableFromInline package struct RowLayout: Sendable {
    /// The storage format of a column.
    @usableFromInline
    enum Storage: UInt8, Sendable, BitwiseCopyable {
        case bool, int, double, date, uuid, reference
        case decimal, string, data, url

        /// Whether content that is too long for a row is stored outside it.
        var mayBeLong: Bool { self == .data || self == .string }

        /// The width in bytes; 0 for a variable column.
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
        /// The offset of a fixed-width column in the row; otherwise the index among the variable
        /// columns.
        let place: Int
    }

    static let headerBytes = 4
    /// The minimum size of a row: its model version and tag.
    @usableFromInline package static let minimumRowBytes = headerBytes
    /// The bit in a column's end that marks the column as a reference to a blob.
    @inlinable
    static var blobFlag: UInt32 { 1 << 31 }

    /// The column of each slot; nil for to-many relationships.
    let columns: [Column?]
    /// The offset of the ends of the variable columns.
    let endsOffset: Int
    /// The number of variable columns.
    let variableCount: Int
    /// The slots of the variable columns.
    let variable: PropertyMask
    /// The slots of the fixed-width columns.
    let fixed: PropertyMask
    /// The columns that can contain a reference to a blob.
    let longColumns: [Column]
    /// The variable columns in order; their bytes have to be checked, because not every byte
    /// sequence is valid.
    let checkedColumns: [Column]

    /// Whether no column can refer to content stored outside the row.
    package var hasNoLongColumns: Bool { longColumns.isEmpty }

    /// The size of a row without the content of its variable columns.
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

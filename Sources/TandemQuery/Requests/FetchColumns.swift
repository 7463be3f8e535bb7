package import TandemModel

/// The columns of a fetch that returns values of objects, or aggregates of groups, instead of
/// objects.
///
///     FetchColumns(["zone", "@count", "@sum.wins"], groupBy: ["zone"])
///
/// Without ``groupBy`` and aggregates, there is one row per object, in the request's order.
///
/// Otherwise there is one row per group of objects with the same values of the ``groupBy`` key
/// paths. If ``groupBy`` is empty, all objects form one group, even if there are none. The
/// request's sort keys are then names of columns; without sort keys, groups are sorted by the
/// values of ``groupBy``. ``having`` filters the groups.
///
/// The request's offset and limit apply to rows.
public struct FetchColumns: Hashable, Sendable {
    /// The columns of a row, in order.
    public var columns: [FetchColumn]
    /// The key paths by which objects are grouped: attributes, optionally through to-one
    /// relationships.
    public var groupBy: [String]
    /// The condition on groups: a predicate over column names, `@count > 3 AND @sum.wins >= 10`;
    /// nil for all groups.
    public var having: ObjectPredicate?
    /// Whether only the first of several equal rows is returned.
    public var isDistinct: Bool

    /// The maximum number of columns, and of key paths for grouping.
    package static let maximumColumns = 32

    /// Creates columns.
    public init(
        _ columns: [FetchColumn], groupBy: [String] = [], having: ObjectPredicate? = nil,
        isDistinct: Bool = false
    ) {
        self.columns = columns
        self.groupBy = groupBy
        self.having = having
        self.isDistinct = isDistinct
    }

    /// Throws `usage` for too many columns or grouping key paths, and `limitExceeded` for a
    /// condition beyond the limits of predicates.
    package func checkLimits() throws(TandemError) {
        let most = FetchColumns.maximumColumns
        guard columns.count <= most, groupBy.count <= most else {
            throw TandemError(.usage, "a fetch of values needs 1 to \(most) columns")
        }
        if let having { try PredicateLimits.check(having.tree) }
    }

    /// Whether a row represents a group of objects.
    package var isGrouped: Bool {
        !groupBy.isEmpty || columns.contains { $0.aggregate != nil }
    }

    /// Returns the request for the objects whose values make up the rows.
    ///
    /// Offset and limit of grouped or distinct rows, and the order of groups, are applied later.
    @usableFromInline package func objectRequest(for request: FetchDescriptor) -> FetchDescriptor {
        var objectRequest = request
        if isGrouped { objectRequest.sort = [] }
        if isGrouped || isDistinct { (objectRequest.limit, objectRequest.offset) = (nil, 0) }
        return objectRequest
    }
}

/// One column of a fetch: the value of a key path, or an aggregate of it over a group.
///
/// As text: `zone`, `team.name`, `@count`, `@sum.wins`, `@max.team.wins`.
public struct FetchColumn: Hashable, Sendable {
    /// The aggregate over the group; nil for a value.
    package var aggregate: Aggregate?
    /// The key path; nil for the number of objects.
    package var keyPath: String?

    /// Creates a column with the value of a key path.
    package init(keyPath: String) { self.keyPath = keyPath }

    /// Creates a column with an aggregate over a group.
    ///
    /// Without a key path, `count` is the number of objects, otherwise the number of values.
    package init(_ aggregate: Aggregate, of keyPath: String? = nil) {
        self.aggregate = aggregate
        self.keyPath = keyPath
    }
}

extension FetchColumn: LosslessStringConvertible, ExpressibleByStringLiteral {
    /// Parses `zone`, `@count` or `@sum.wins`; returns nil for an unknown aggregate or a missing
    /// key path.
    public init?(_ description: String) {
        guard description.first == "@" else {
            guard !description.isEmpty else { return nil }
            self.init(keyPath: description)
            return
        }
        let parts = description.dropFirst().split(
            separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first, let aggregate = Aggregate(rawValue: String(name)) else {
            return nil
        }
        let keyPath = parts.count > 1 ? String(parts[1]) : nil
        guard keyPath != "", keyPath != nil || aggregate == .count else { return nil }
        self.init(aggregate, of: keyPath)
    }

    /// Creates a column from a literal; traps if the literal is not a column.
    public init(stringLiteral value: String) {
        guard let column = FetchColumn(value) else {
            fatalError("\"\(value)\" is not a column; expected \(FetchColumn.form).")
        }
        self = column
    }

    /// The text that parses to this column, which is also its name in a row.
    public var description: String {
        ([aggregate.map { "@\($0.rawValue)" }, keyPath] as [String?]).compactMap { $0 }
            .joined(separator: ".")
    }

    /// A description of the texts that ``init(_:)`` accepts, for errors.
    package static let form =
        "a key path, @count, or @sum, @min, @max or @avg with a key path, such as @sum.wins"
}

extension FetchColumns: ExpressibleByArrayLiteral {
    /// Creates columns without ``groupBy``: `["name", "wins"]`, or `["@count"]` for the number of
    /// all objects.
    public init(arrayLiteral elements: FetchColumn...) { self.init(elements) }
}

// MARK: Coding

extension FetchColumns {
    /// Appends the binary form: columns as text, key paths of groups, whether rows are distinct,
    /// and the condition on groups.
    package func encode(into writer: inout ByteWriter) {
        writer.count(columns.count)
        for column in columns { writer.string(column.description) }
        writer.count(groupBy.count)
        for keyPath in groupBy { writer.string(keyPath) }
        writer.bool(isDistinct)
        writer.bool(having != nil)
        having?.tree.encode(into: &writer)
    }

    /// Reads the binary form; throws `CodingError` for invalid bytes or more than
    /// ``maximumColumns`` columns.
    package init(from reader: inout ByteReader) throws(CodingError) {
        var columns: [FetchColumn] = []
        for _ in 0..<(try FetchColumns.count(from: &reader)) {
            let start = reader.offset
            guard let column = FetchColumn(try reader.string()) else {
                throw CodingError(expected: "a column of a fetch", offset: start)
            }
            columns.append(column)
        }
        var groupBy: [String] = []
        for _ in 0..<(try FetchColumns.count(from: &reader)) { groupBy.append(try reader.string()) }
        self.init(columns, groupBy: groupBy, isDistinct: try reader.bool())
        if try reader.bool() { having = ObjectPredicate(try PredicateTree(from: &reader)) }
    }

    private static func count(from reader: inout ByteReader) throws(CodingError) -> Int {
        let start = reader.offset
        let count = try reader.count(itemBytes: 1)
        guard count <= maximumColumns else {
            throw CodingError(expected: "at most \(maximumColumns) columns", offset: start)
        }
        return count
    }
}

public import TandemModel

/// What a fetch tells of its objects instead of the objects: some of their values, or sums of groups of them.
///
///     FetchColumns(["zone", "@count", "@sum.wins"], groupBy: ["zone"])
///
/// Without groups and aggregates there is one row for each object, in the request's order. With them there is one for each group: objects
/// whose ``groupBy`` key paths reach the same values; without ``groupBy`` all objects are one group, also if there are none. The
/// request's sort keys then are names of columns, and groups without another order are ordered by what they are grouped by; ``having`` leaves
/// groups out. Offset and limit of the request count rows.
public struct FetchColumns: Hashable, Sendable {
    /// What a row has, in this order.
    public var columns: [FetchColumn]
    /// The key paths by which objects are grouped: attributes, perhaps over to-one relationships.
    public var groupBy: [String]
    /// Which groups are told of: a predicate over the names of the columns, `@count > 3 AND @sum.wins >= 10`; nil for all.
    public var having: ObjectPredicate?
    /// Whether of rows that are the same only the first is told.
    public var isDistinct: Bool

    /// A fetch has at most this many columns, and is grouped by as many key paths.
    public static let maximumColumns = 32

    /// Columns, perhaps of groups.
    public init(
        _ columns: [FetchColumn], groupBy: [String] = [], having: ObjectPredicate? = nil,
        isDistinct: Bool = false
    ) {
        self.columns = columns
        self.groupBy = groupBy
        self.having = having
        self.isDistinct = isDistinct
    }

    /// Throws `usage` for more than there may be of columns or groups, `limitExceeded` for a condition beyond the limits of
    /// predicates.
    public func checkLimits() throws(TandemError) {
        let most = FetchColumns.maximumColumns
        guard columns.count <= most, groupBy.count <= most else {
            throw TandemError(.usage, "a fetch of values has 1 to \(most) columns")
        }
        if let having { try PredicateLimits.check(having) }
    }

    /// Whether a row stands for a group of objects.
    public var isGrouped: Bool {
        !groupBy.isEmpty || columns.contains { $0.aggregate != nil }
    }

    /// The request for the objects that the rows are made of.
    ///
    /// Offset, limit and the order of groups are for afterwards.
    public func objects(of request: FetchRequest) -> FetchRequest {
        var objects = request
        if isGrouped { objects.sort = [] }
        if isGrouped || isDistinct { (objects.limit, objects.offset) = (nil, 0) }
        return objects
    }
}

/// One column of a fetch: what a key path reaches, or an aggregate of that over a group.
///
/// As text: `zone`, `team.name`, `@count`, `@sum.wins`, `@max.team.wins`.
public struct FetchColumn: Hashable, Sendable {
    /// What is computed of a group; nil for a value.
    public var aggregate: Aggregate?
    /// The key path; nil for the number of objects.
    public var keyPath: String?

    /// What a key path reaches.
    public init(keyPath: String) { self.keyPath = keyPath }

    /// An aggregate over a group; `count` without key path is the number of objects, with one that of values.
    public init(_ aggregate: Aggregate, of keyPath: String? = nil) {
        self.aggregate = aggregate
        self.keyPath = keyPath
    }
}

extension FetchColumn: LosslessStringConvertible, ExpressibleByStringLiteral {
    /// Parses `zone`, `@count` or `@sum.wins`; nil for other aggregates, and without a key path where one is needed.
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

    /// A column written as a literal; one that is none traps.
    public init(stringLiteral value: String) {
        guard let column = FetchColumn(value) else {
            preconditionFailure("\"\(value)\" is no column; expected \(FetchColumn.form).")
        }
        self = column
    }

    /// The text that parses to this column, which is also its name in a row.
    public var description: String {
        ([aggregate.map { "@\($0.rawValue)" }, keyPath] as [String?]).compactMap { $0 }
            .joined(separator: ".")
    }

    /// What a text has to be for ``init(_:)``, for errors.
    public static let form =
        "a key path, @count, or @sum, @min, @max or @avg with a key path, @sum.wins"
}

extension FetchColumns: ExpressibleByArrayLiteral {
    /// Columns without groups: `["name", "wins"]`, or `["@count"]` of all objects.
    public init(arrayLiteral elements: FetchColumn...) { self.init(elements) }
}

// MARK: Coding

extension FetchColumns {
    /// Appends the binary form: columns as text, key paths of groups, whether rows are distinct, the condition on groups.
    public func encode(into writer: inout ByteWriter) {
        writer.count(columns.count)
        for column in columns { writer.string(column.description) }
        writer.count(groupBy.count)
        for keyPath in groupBy { writer.string(keyPath) }
        writer.bool(isDistinct)
        writer.bool(having != nil)
        having?.encode(into: &writer)
    }

    /// Reads the binary form or throws `CodingError`, also for more than ``maximumColumns``.
    public init(from reader: inout ByteReader) throws(CodingError) {
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
        if try reader.bool() { having = try ObjectPredicate(from: &reader) }
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

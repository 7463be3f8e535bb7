package import TandemModel

/// A builder of the rows of a value fetch; objects are added in the request's order.
///
///     var fold = ColumnFold(columns)
///     for object in objects { fold.add(columns.values(object, row, reader)) }
///     let rows = try fold.rows(reader, check)
///
/// Values are equal if their sort keys are: 0.0 equals -0.0, and 1 and 1.0 never occur in the same
/// column. Sums do not depend on the order of objects. Cost: each object is visited once. The rows
/// and all summed numbers are kept in memory.
package struct ColumnFold {
    private let columns: CompiledColumns
    /// The rows of objects, or the groups found so far.
    private var groups: [Group] = []
    /// The indexes of groups or distinct rows, by their encoded values.
    private var known: [[UInt8]: Int] = [:]
    /// The approximate size, in bytes, of the rows and the summed numbers.
    package private(set) var bytes = 0

    fileprivate struct Group {
        /// The encoded values that identify the group and determine the order of groups.
        var key: [UInt8]
        var cells: [Cell]
    }

    /// The value of a column while objects are added.
    fileprivate enum Cell {
        case value(PropertyValue)
        case count(Int64)
        case extreme(Aggregate, PropertyValue)
        case numbers(Aggregate, [PropertyValue])
    }

    /// Creates an empty fold.
    package init(_ columns: CompiledColumns) {
        self.columns = columns
        // Without `groupBy`, all objects form one group, even if there are none.
        if columns.columns.isGrouped, columns.columns.groupBy.isEmpty {
            known[[]] = 0
            groups.append(Group(key: [], cells: begin(nil)))
        }
    }

    /// Adds an object, given the values of its key paths.
    package mutating func add(_ values: [PropertyValue]) {
        if columns.columns.isGrouped { return addToGroup(values) }
        let row = columns.valueIndexes.map { place in place.map { values[$0] } ?? .null }
        if columns.columns.isDistinct {
            let key = Self.key(row)
            guard known.updateValue(groups.count, forKey: key) == nil else { return }
        }
        bytes += Self.size(of: row)
        groups.append(Group(key: [], cells: row.map { .value($0) }))
    }

    /// Returns the rows in order, after applying the condition, offset and limit.
    ///
    /// The result is nil if the reader lacks a text that the condition on groups needs. Calls
    /// `check` periodically, and throws its errors.
    package func rows<R: GraphReader & ~Copyable, Failure>(
        _ reader: borrowing R, _ check: () throws(Failure) -> Void
    ) throws(Failure) -> [[PropertyValue]]? {
        var rows: [[PropertyValue]]
        if columns.columns.isGrouped {
            rows = []
            for (number, group) in try ordered(check).enumerated() {
                if number % Self.groupsBetweenChecks == 0 { try check() }
                let row = group.cells.map(\.whole)
                guard let isWanted = columns.having.map({ $0.matches(row, reader) }) ?? true else {
                    return nil
                }
                if isWanted { rows.append(row) }
            }
            if columns.columns.isDistinct { rows = Self.distinct(rows) }
        } else {
            rows = groups.map { $0.cells.map(\.whole) }
            // If rows are neither grouped nor distinct, offset and limit were applied when the
            // objects were fetched.
            guard columns.columns.isDistinct else { return rows }
        }
        let rest = rows.dropFirst(max(0, columns.request.offset))
        return Array(columns.request.limit.map { rest.prefix(max(0, $0)) } ?? rest)
    }

    // MARK: Groups

    /// The number of groups evaluated between two checks.
    private static var groupsBetweenChecks: Int { 1_024 }

    private mutating func addToGroup(_ values: [PropertyValue]) {
        let key = Self.key(columns.groupIndexes.map { values[$0] })
        let place = known[key] ?? groups.count
        if place == groups.count {
            known[key] = place
            bytes += key.count + Self.size(of: values)
            groups.append(Group(key: key, cells: begin(values)))
        }
        bytes += columns.summed * MemoryLayout<PropertyValue>.stride
        for (index, at) in columns.valueIndexes.enumerated() {
            groups[place].cells[index].add(at.map { values[$0] })
        }
    }

    private func begin(_ values: [PropertyValue]?) -> [Cell] {
        zip(columns.columns.columns, columns.valueIndexes).map { column, place in
            switch column.aggregate {
            case nil: .value(place.flatMap { values?[$0] } ?? .null)
            case .count: .count(0)
            case .min, .max: .extreme(column.aggregate ?? .min, .null)
            case .sum, .avg: .numbers(column.aggregate ?? .sum, [])
            }
        }
    }

    private func ordered<Failure>(
        _ check: () throws(Failure) -> Void
    ) throws(Failure) -> [Group] {
        let mixed = columns.order.map { hasDoubles($0.column) }
        var keyed = groups.map { group in
            var encoder = KeyEncoder()
            for ((column, key), isMixed) in zip(columns.order, mixed) {
                let value = group.cells[column].whole
                encoder.append(isMixed ? value.asDouble : value, by: key)
            }
            return (key: encoder.bytes + group.key, group: group)
        }
        var sort = CheckedSort()
        try sort.sort(&keyed, by: { $0.key.lexicographicallyPrecedes($1.key) }, check)
        return keyed.map(\.group)
    }

    /// Returns whether a column contains a double; sums of integers become doubles only if they
    /// overflow.
    private func hasDoubles(_ column: Int) -> Bool {
        groups.contains { if case .double = $0.cells[column].whole { true } else { false } }
    }

    private static func size(of row: [PropertyValue]) -> Int {
        row.reduce(0) { $0 + MemoryLayout<PropertyValue>.stride + $1.contentBytes }
    }

    // MARK: Equality

    private static func key(_ values: [PropertyValue]) -> [UInt8] {
        var encoder = KeyEncoder()
        for value in values { encoder.append(value) }
        return encoder.bytes
    }

    private static func distinct(_ rows: [[PropertyValue]]) -> [[PropertyValue]] {
        var seen: Set<[UInt8]> = []
        return rows.filter { seen.insert(key($0)).inserted }
    }
}

extension ColumnFold.Cell {
    /// Adds an object's value, which is nil if only objects are counted.
    fileprivate mutating func add(_ value: PropertyValue?) {
        switch self {
        case .value: break
        case .count(let count): self = .count(value?.isNull == true ? count : count + 1)
        case .extreme(let aggregate, let best):
            guard let value, !value.isNull else { return }
            self = .extreme(aggregate, Calculation.aggregate(aggregate, [best, value]))
        case .numbers(let aggregate, var numbers):
            guard let value, !value.isNull else { return }
            // With a second reference in `self`, the array would be copied for each added number.
            self = .count(0)
            numbers.append(value)
            self = .numbers(aggregate, numbers)
        }
    }

    fileprivate var whole: PropertyValue {
        switch self {
        case .value(let value), .extreme(_, let value): value
        case .count(let count): .int(count)
        case .numbers(let aggregate, let numbers): Calculation.aggregate(aggregate, numbers)
        }
    }
}

extension PropertyValue {
    /// The value, converted to a double if it is an integer.
    fileprivate var asDouble: PropertyValue {
        if case .int(let number) = self { .double(Double(number)) } else { self }
    }
}

extension PropertyValue {
    /// The size of a text or data in bytes; 0 for other values.
    fileprivate var contentBytes: Int {
        switch self {
        case .string(let text), .url(let text): text.utf8.count
        case .data(let data): data.count
        default: 0
        }
    }
}

import FoundationEssentials
import TandemModel
import TandemQuery
import TandemResults

/// The summed attributes of a list, with their values in each row.
///
/// A sum adds the values of a section in the order of its rows. It is therefore bitwise equal to
/// the sum over a newly fetched list with the same rows. Sums are cached until the list changes.
struct ResultsSums {
    /// The summed attributes.
    let properties: [CompiledProperty]
    private var values: [ObjectNumber: [PropertyValue]] = [:]
    private var cachedSums: [SumKey: PropertyValue] = [:]

    private struct SumKey: Hashable {
        var property: Int
        var section: Int?
    }

    /// Creates empty sums for attributes of an entity.
    ///
    /// Throws `unknownProperty` if there is no such attribute, and `usage` if the attribute is not
    /// numeric.
    init(_ names: [String], of entity: CompiledEntity) throws(TandemError) {
        var properties: [CompiledProperty] = []
        for name in names {
            guard let property = entity.property(named: name) else {
                throw entity.unknownProperty(name)
            }
            switch property.attribute?.type {
            case .int, .double, .decimal: properties.append(property)
            default:
                throw TandemError(
                    .usage,
                    "\(entity.name).\(name) is not a numeric attribute, so it cannot be summed")
            }
        }
        self.properties = properties
    }

    /// Whether no attribute is summed.
    var isEmpty: Bool { properties.isEmpty }

    /// Records a row's values.
    mutating func record(_ row: Row, of object: ObjectReference, _ model: CompiledModel) {
        guard let entity = model.entity(tagged: object.tag) else { return }
        values[object.number] = properties.map { row.uncheckedValue($0.slot, in: entity) }
    }

    /// Updates the values of changed rows, edits included, and of edited objects that were
    /// examined; `rows` contains the rows before the change.
    mutating func record(
        _ edits: ListEdits, _ examined: Set<ObjectNumber>, _ rows: StoredRows,
        _ model: CompiledModel, _ reader: some GraphReader
    ) {
        if isEmpty { return }
        for number in edits.removed { forget(number) }
        let changed =
            edits.upserted.map { ObjectReference(tag: $0.entityTag, number: $0.number) }
            + edits.unmoved.compactMap(rows.reference)
        for object in changed where rows.overlay.entries[object.number] == nil {
            if case .row(let row) = reader.row(of: object) { record(row, of: object, model) }
        }
        for number in examined {
            // For an object that was edited before its row was loaded, the sum changes later than
            // the placement.
            guard let record = rows.overlay.entries[number]?.record,
                let row = record.currentRow(modelVersion: model.version)
            else { continue }
            self.record(row, of: record.reference, model)
        }
        // The cached sums were computed from the rows before the change.
        cachedSums = [:]
    }

    /// Removes a row that left the list.
    mutating func forget(_ number: ObjectNumber) { values[number] = nil }

    /// Returns the sum over a section, or over the whole list; null if no row has a value, nil if
    /// the attribute is not summed.
    mutating func sum(_ name: String, _ section: Int?, of list: SectionedList) -> PropertyValue? {
        guard let property = properties.firstIndex(where: { $0.name == name }) else { return nil }
        let key = SumKey(property: property, section: section)
        if let known = cachedSums[key] { return known }
        let range = section.map { list.sections[$0].range } ?? 0..<list.count
        let parts = list.numbers(in: range).compactMap { values[$0]?[property] }
        let sum = ResultsSums.sum(of: parts)
        cachedSums[key] = sum
        return sum
    }

    /// Returns the sum of numbers of one type; integers that overflow are added as floating point.
    static func sum(of values: [PropertyValue]) -> PropertyValue {
        var (integer, double, decimal) = (Int64?.none, Double?.none, Decimal?.none)
        for value in values {
            switch value {
            case .int(let next):
                let (sum, overflow) = (integer ?? 0).addingReportingOverflow(next)
                if overflow { return .double(values.reduce(0) { $0 + $1.approximate }) }
                integer = sum
            case .double(let next): double = (double ?? 0) + next
            case .decimal(let next): decimal = (decimal ?? 0) + next
            default: continue
            }
        }
        return integer.map { .int($0) } ?? double.map { .double($0) }
            ?? decimal.map { .decimal($0) } ?? .null
    }
}

extension PropertyValue {
    /// The floating-point value of an integer; zero for any other value.
    fileprivate var approximate: Double {
        if case .int(let number) = self { Double(number) } else { 0 }
    }
}

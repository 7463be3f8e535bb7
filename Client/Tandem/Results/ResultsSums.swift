import FoundationEssentials
import TandemModel
import TandemQuery
import TandemResults

/// The numbers that a list adds up: of each row the values of some attributes.
///
/// Adding goes through the rows of a section in their order, so that a sum is what a fresh list of the same rows gives, to the last bit; what was
/// added is kept until the list changes.
struct ResultsSums {
    /// The attributes by name.
    let properties: [CompiledProperty]
    private var values: [ObjectNumber: [Value]] = [:]
    private var added: [Place: Value] = [:]

    private struct Place: Hashable {
        var property: Int
        var section: Int?
    }

    /// Sums of some attributes of an entity.
    ///
    /// Throws `unknownProperty` for what is none, `usage` for one that is no number.
    init(_ names: [String], of entity: CompiledEntity) throws(TandemError) {
        var properties: [CompiledProperty] = []
        for name in names {
            guard let property = entity.property(named: name) else {
                throw TandemError(
                    .unknownProperty, "\(entity.name) has no property \(name) to add up")
            }
            switch property.attribute?.type {
            case .int, .double, .decimal: properties.append(property)
            default:
                throw TandemError(
                    .usage,
                    "\(entity.name).\(name) can't be added up: it is no attribute with numbers")
            }
        }
        self.properties = properties
    }

    /// The same for a list that is fetched anew, perhaps under another model.
    func emptied(for plan: ResultsPlan) throws(TandemError) -> ResultsSums {
        try ResultsSums(properties.map(\.name), of: plan.compiled.entity)
    }

    /// Whether nothing is added up.
    var isEmpty: Bool { properties.isEmpty }

    /// Takes over a row's values.
    mutating func note(_ row: Row, of object: ObjectReference, _ model: CompiledModel) {
        guard let entity = model.entity(tagged: object.tag) else { return }
        values[object.number] = properties.map { row.uncheckedValue($0.slot, in: entity) }
    }

    /// Forgets a row that left.
    mutating func forget(_ number: ObjectNumber) { values[number] = nil }

    /// Notes that rows came, went or moved.
    mutating func noteChange() { added = [:] }

    /// The sum over a section of a list, or all of it; null where nothing has a value.
    mutating func sum(_ name: String, _ section: Int?, of list: SectionedList) -> Value? {
        guard let property = properties.firstIndex(where: { $0.name == name }) else { return nil }
        let place = Place(property: property, section: section)
        if let known = added[place] { return known }
        let range = section.map { list.sections[$0].range } ?? 0..<list.count
        let parts = list.numbers(in: range).compactMap { values[$0]?[property] }
        let sum = ResultsSums.sum(of: parts)
        added[place] = sum
        return sum
    }

    /// The sum of numbers of one type; integers that don't fit any more are added as floating point.
    static func sum(of values: [Value]) -> Value {
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

extension Value {
    /// An integer as floating point, anything else as zero.
    fileprivate var approximate: Double {
        if case .int(let number) = self { Double(number) } else { 0 }
    }
}

extension FetchedResultsController {
    /// The sum of an attribute over a section, or over the whole list; edits that the list shows count.
    ///
    /// - Parameters:
    ///   - property: One of ``sumProperties``.
    ///   - section: The place of the section; nil for the whole list. One outside it traps.
    /// - Returns: A number of the attribute's type (integers that overflow give a double), null where no row has a value; nil
    ///   for a property that is not added up.
    ///
    /// Cost: O(rows of the section) after a change, O(1) until the next.
    public func sum(of property: String, inSection section: Int? = nil) -> Value? {
        sums?.sum(property, section, of: visible)
    }

    /// Takes over the numbers of rows as they are now, edits included, and of edited objects that were looked at.
    func noteSums(
        _ edits: ListEdits, _ edited: Set<ObjectNumber>, _ model: CompiledModel,
        _ reader: some GraphReader
    ) {
        guard sums?.isEmpty == false else { return }
        for number in edits.removed { sums?.forget(number) }
        for row in edits.upserted where overlay[row.number] == nil {
            let object = ObjectReference(tag: row.entityTag, number: row.number)
            if case .row(let row) = reader.row(of: object) { sums?.note(row, of: object, model) }
        }
        for number in edits.unmoved where overlay[number] == nil {
            guard let object = reference(number) else { continue }
            if case .row(let row) = reader.row(of: object) { sums?.note(row, of: object, model) }
        }
        for number in edited {
            // What was edited before it was loaded shows its numbers later than its place.
            guard let record = overlay[number]?.record,
                let row = record.currentRow(modelVersion: model.version)
            else { continue }
            sums?.note(row, of: record.reference, model)
        }
        sums?.noteChange()
    }
}

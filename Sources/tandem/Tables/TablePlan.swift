import Tandem

/// The plan for reading the rows of a file: a map whose columns and properties are resolved.
struct TablePlan: Sendable {
    /// The source of an attribute's value, by column indexes.
    enum Source: Sendable {
        case cell(Int, values: [String: PropertyValue], nulls: NullTexts)
        case date(
            [(part: ImportMap.DatePart, column: Int)], partial: ImportMap.Partial, nulls: NullTexts)
        case constant(PropertyValue)
    }

    /// An attribute to set.
    ///
    /// A class, because copying a structure for each row would cost more than computing the value.
    final class Attribute: Sendable {
        let property: CompiledProperty
        let type: AttributeType
        let source: Source
        /// Whether an empty cell leaves the default value.
        let hasDefault: Bool

        init(
            property: CompiledProperty, type: AttributeType, source: Source, hasDefault: Bool
        ) {
            self.property = property
            self.type = type
            self.source = source
            self.hasDefault = hasDefault
        }
    }

    /// A link to set; a class for the same reason as ``Attribute``.
    final class Link: Sendable {
        let property: CompiledProperty
        let destination: CompiledEntity
        /// The attribute of the destination.
        let key: CompiledProperty
        let type: AttributeType
        let column: Int
        let missing: ImportMap.Missing

        init(
            property: CompiledProperty, destination: CompiledEntity, key: CompiledProperty,
            type: AttributeType, column: Int, missing: ImportMap.Missing
        ) {
            self.property = property
            self.destination = destination
            self.key = key
            self.type = type
            self.column = column
            self.missing = missing
        }
    }

    /// The strings that mean null; usually there are one or two, which are faster to compare than
    /// to hash.
    struct NullTexts: Sendable {
        private let few: [String]
        private let many: Set<String>

        init(_ texts: Set<String>) {
            few = texts.count <= 4 ? texts.sorted() : []
            many = texts.count <= 4 ? [] : texts
        }

        func contains(_ text: String) -> Bool {
            few.contains(text) || (!many.isEmpty && many.contains(text))
        }
    }

    let table: ImportMap.Table
    let entity: CompiledEntity
    let attributes: [Attribute]
    let links: [Link]
    /// The strings that mean null in columns without a list of their own.
    let nulls: NullTexts
    /// The hash of the map, the first part of a row's identity.
    private let seed: [UInt8]
    /// The length of `seed` in bytes.
    static let seedBytes = 32

    /// Resolves all names; throws ``CommandFailure`` if a name does not exist, or if the map
    /// contradicts the model.
    init(_ table: ImportMap.Table, columns: [String], _ model: CompiledModel) throws {
        let binding = try TableBinding(table, columns, model)
        self.table = table
        nulls = NullTexts(table.nulls)
        entity = binding.entity
        attributes = try binding.attributes()
        links = try binding.links()
        try binding.checkRequired()
        seed = Array(StableHash(Array("\(table.canonical)".utf8)).description.utf8)
    }

    // MARK: Rows

    /// Returns the identity of a row, which allows an import to be resumed: the hash of the map and
    /// the row's bytes.
    ///
    /// It does not depend on the targets of links, which may change between two attempts.
    func identity(_ bytes: [UInt8]) -> [UInt8] { seed + bytes }

    /// Returns the values of a row; if `targets` is nil, links are parsed but not set.
    ///
    /// Throws ``ImportValues/RowError`` if a cell is not a value of its attribute, or if a link
    /// has no target.
    func values(
        _ cells: [String?], _ targets: [LinkTargets]?
    ) throws(ImportValues.RowError) -> BatchValues {
        var values = BatchValues([:])
        values.attributes.reserveCapacity(attributes.count)
        for attribute in attributes {
            let value = try attribute.value(cells)
            if value.isNull, attribute.hasDefault { continue }
            values.attributes[attribute.property.name] = value
        }
        for (index, link) in links.enumerated() {
            guard let key = try link.key(cells, nulls) else {
                try link.checkHasTarget()
                continue
            }
            guard let targets else { continue }
            if let id = targets[index][key] {
                values.objects[link.property.name] = [id]
            } else if link.missing != .nil {
                throw ImportValues.RowError(
                    reason: "\(link.property.name): there is no \(link.destination.name) whose "
                        + "\(link.key.name) is \(key.value.json.text)")
            }
        }
        return values
    }
}

extension TablePlan.Attribute {
    /// Returns the attribute's value in a row.
    fileprivate func value(_ cells: [String?]) throws(ImportValues.RowError) -> PropertyValue {
        let value: PropertyValue
        switch source {
        case .constant(let constant): value = constant
        case .cell(let column, let values, let nulls):
            value = try cell(cells[column], values, nulls)
        case .date(let parts, let partial, let nulls):
            value = try date(parts, partial, nulls, cells)
        }
        if value.isNull, hasDefault { return value }
        if let problem = property.problem(with: value, content: { _ in nil }) {
            throw ImportValues.RowError(reason: "\(property.name): \(problem)")
        }
        return value
    }

    private func cell(
        _ text: String?, _ values: [String: PropertyValue], _ nulls: TablePlan.NullTexts
    ) throws(ImportValues.RowError) -> PropertyValue {
        let text = text ?? ""
        if nulls.contains(text) { return .null }
        if !values.isEmpty, let value = values[text] { return value }
        if text.isEmpty { return .null }
        guard let value = CellValue.read(text, type), property.accepts(value) else {
            throw ImportValues.RowError(
                reason: "\(property.name): " + type.mismatch(JSON.string(text).text)
                    + CellValue.forms(type))
        }
        return value
    }

    /// Returns a date composed of parts, or null if its year has no value.
    private func date(
        _ parts: [(part: ImportMap.DatePart, column: Int)], _ partial: ImportMap.Partial,
        _ nulls: TablePlan.NullTexts, _ cells: [String?]
    ) throws(ImportValues.RowError) -> PropertyValue {
        var time = CivilTime(year: 0)
        let missing = parts.filter { isMissing(cells[$0.column], nulls) }.map(\.part)
        if missing.contains(.year) { return .null }
        if !missing.isEmpty {
            if partial == .nil { return .null }
            guard partial == .first else {
                throw ImportValues.RowError(
                    reason: "\(property.name): the date has no "
                        + missing.map(\.rawValue).joined(separator: ", ")
                        + "; set `partial` to nil or first in the map to accept it")
            }
        }
        for (part, column) in parts where !missing.contains(part) {
            let text = cells[column] ?? ""
            guard let number = CellValue.whole(text) else {
                throw ImportValues.RowError(
                    reason:
                        "\(property.name): its \(part) is not a number: \(JSON.string(text).text)")
            }
            time.set(part, number)
        }
        guard let seconds = time.seconds else {
            let cells = parts.map { "\($0.part) \(cells[$0.column] ?? "")" }
            throw ImportValues.RowError(
                reason: "\(property.name): there is no such time: " + cells.joined(separator: ", "))
        }
        return .date(seconds)
    }

    private func isMissing(_ text: String?, _ nulls: TablePlan.NullTexts) -> Bool {
        guard let text, !text.isEmpty else { return true }
        return nulls.contains(text)
    }
}

extension CivilTime {
    fileprivate mutating func set(_ part: ImportMap.DatePart, _ number: Int64) {
        switch part {
        case .year: year = number
        case .month: month = number
        case .day: day = number
        case .hour: hour = number
        case .minute: minute = number
        case .second: second = number
        // A negative number has a negative remainder, which is not a valid minute.
        case .time: (hour, minute) = (number / 100, number % 100)
        }
    }
}

extension TablePlan.Link {
    /// Returns the key of a row's target, or nil if the row has none.
    func key(
        _ cells: [String?], _ nulls: TablePlan.NullTexts
    ) throws(ImportValues.RowError) -> LinkKey? {
        guard let text = cells[column], !text.isEmpty, !nulls.contains(text) else { return nil }
        guard let value = CellValue.read(text, type) else {
            throw ImportValues.RowError(
                reason: "\(property.name): \(key.name) is of type \(type.rawValue), not "
                    + JSON.string(text).text)
        }
        return LinkKey(value: value)
    }

    /// Throws if a row needs a target but has none.
    fileprivate func checkHasTarget() throws(ImportValues.RowError) {
        guard property.needsValue else { return }
        throw ImportValues.RowError(
            reason: "\(property.name): \(CompiledProperty.missingObjectMessage)")
    }

    /// Returns whether the model allows this key for an object of the destination.
    func allows(_ key: LinkKey) -> Bool {
        self.key.problem(with: key.value, content: { _ in nil }) == nil
    }
}

import TandemModel

/// A predicate ready for evaluation.
indirect enum PredicateNode: Sendable {
    case constant(Bool)
    case and([PredicateNode])
    case or([PredicateNode])
    case not(PredicateNode)
    case comparison(ComparisonNode)
}

/// A comparison ready for evaluation.
struct ComparisonNode: Sendable {
    /// The right side, precomputed if it is constant.
    enum Right: Sendable {
        /// A value other than a text.
        case value(PropertyValue)
        /// A text, folded in advance.
        case text(TextTest)
        /// The lower and upper bound.
        case between(Operand, Operand)
        /// A constant list.
        case members(Membership)
        /// A list that contains key paths.
        case list([Operand])
        /// The values of a to-many path.
        case collection(Operand)
        /// Any other operand.
        case operand(Operand)
    }

    var left: Operand
    var op: Comparison.Operator
    var right: Right
    var options: ComparisonOptions
    var quantifier: Comparison.Quantifier
    /// The slot, if the left side is a column of the object's own row.
    var ownSlot: Int?
}

/// One side of a comparison, or an operand in it, ready for evaluation.
indirect enum Operand: Sendable {
    case constant(PropertyValue)
    case path(CompiledPath)
    case aggregate(Aggregate, CollectionNode, CompiledPath)
    case arithmetic(Arithmetic, Operand, Operand)

    var isToMany: Bool { if case .path(let path) = self { path.isToMany } else { false } }
}

/// A collection of objects.
indirect enum CollectionNode: Sendable {
    case path(CompiledPath)
    case subquery(CompiledPath, PredicateNode)
}

/// A constant list, prepared for lookups.
enum Membership: Sendable {
    /// Integers, for an integer column.
    case integers(Set<Int64>)
    /// Objects by number; the given entities are ignored.
    case objects([ObjectNumber: ObjectReference])
    /// Folded texts in UTF-8.
    case texts(Set<[UInt8]>)
    /// Any other values.
    case values([PropertyValue])

    /// Creates the lookup in a list without nulls for values of a type.
    init(_ values: [PropertyValue], _ type: OperandType, _ options: ComparisonOptions) {
        let integers = values.compactMap { if case .int(let int) = $0 { int } else { nil } }
        if type.isText {
            self = .texts(Set(values.compactMap { $0.text.map { TextFolding.fold($0, options) } }))
        } else if type == .object {
            self = .objects(
                Dictionary(
                    values.compactMap(\.reference).map { ($0.number, $0) },
                    uniquingKeysWith: { first, _ in first }))
        } else if type == .attribute(.int), integers.count == values.count {
            self = .integers(Set(integers))
        } else {
            self = .values(values)
        }
    }

    func contains(_ value: PropertyValue, _ options: ComparisonOptions) -> Bool {
        switch (self, value) {
        case (.integers(let set), .int(let value)): set.contains(value)
        case (.objects(let set), .reference(let value)): set[value.number] != nil
        case (.texts(let set), .string(let text)), (.texts(let set), .url(let text)):
            set.contains(TextFolding.fold(text, options))
        case (.values(let values), _): values.contains { ValueOrder.areEqual($0, value) }
        default: false
        }
    }
}

extension PropertyValue {
    /// The text of a string or URL; nil for other values and for texts stored outside the row.
    var text: String? {
        switch self {
        case .string(let text), .url(let text): text
        default: nil
        }
    }

    /// The bytes by which texts are ordered if one of them is stored outside its row.
    var textKey: [UInt8]? {
        if case .longText(let text) = inRow { return text.bytes }
        return text.map { Array($0.utf8) }
    }
}

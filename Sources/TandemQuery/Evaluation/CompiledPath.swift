import TandemModel

/// A key path with slots instead of names.
struct CompiledPath: Sendable {
    struct Hop: Sendable {
        let slot: Int
        let relationship: CompiledRelationship
    }

    /// The object at which the path begins: 0 for the object itself, n for the n-th variable.
    var root = 0
    /// The relationships in path order.
    var hops: [Hop] = []
    /// The slot at the end, of an attribute or a to-one relationship.
    ///
    /// Nil if the path ends with `SELF` or a to-many relationship.
    var final: Int?
    /// The type of the values at the end.
    var type: OperandType
    /// Whether any hop is to-many.
    var isToMany = false

    /// The slot, if the path is a column of the object's own row.
    var ownSlot: Int? { root == 0 && hops.isEmpty ? final : nil }
}

/// The kind of an operand's values.
enum OperandType: Hashable, Sendable {
    /// Always nil.
    case null
    /// A value of an attribute.
    case attribute(AttributeType)
    /// A result of arithmetic.
    case number
    /// An object.
    case object

    /// A group of types whose values can be compared with each other.
    enum Group { case number, date, text, bool, data, uuid, object }

    var group: Group? {
        switch self {
        case .null: nil
        case .number, .attribute(.int), .attribute(.double), .attribute(.decimal): .number
        case .attribute(.date): .date
        case .attribute(.string), .attribute(.url): .text
        case .attribute(.bool): .bool
        case .attribute(.data): .data
        case .attribute(.uuid): .uuid
        case .object: .object
        }
    }

    func isComparable(with other: OperandType) -> Bool {
        guard let mine = group, let theirs = other.group else { return true }
        return mine == theirs || (isNumeric && other.isNumeric)
    }

    /// Whether values of the type are numbers or dates; a date counts as its seconds.
    var isNumeric: Bool { group == .number || group == .date }

    var isText: Bool { group == .text }

    /// The type's name in error messages.
    var name: String {
        switch self {
        case .null: "nil"
        case .attribute(.int): "an int"
        case .attribute(let type): "a \(type.rawValue)"
        case .number: "a number"
        case .object: "an object"
        }
    }
}

import TandemModel

/// A key path with slots for names.
struct CompiledPath: Sendable {
    struct Hop: Sendable {
        let slot: Int
        let relationship: CompiledRelationship
    }

    /// Where it begins: 0 is the object itself, n the n-th variable.
    var root = 0
    /// The relationships followed.
    var hops: [Hop] = []
    /// The column read at the end, an attribute or a to-one relationship; nil when objects are reached by `SELF` or a
    /// to-many relationship.
    var final: Int?
    /// What is reached.
    var type: OperandType
    /// Whether any hop is to-many.
    var isToMany = false

    /// The slot, when this is nothing but a column of the object's own row.
    var ownSlot: Int? { root == 0 && hops.isEmpty ? final : nil }
}

/// What kind of value an operand has.
enum OperandType: Hashable, Sendable {
    /// Nothing but nil.
    case null
    /// A value of an attribute.
    case attribute(AttributeType)
    /// A result of arithmetic.
    case number
    /// An object.
    case object

    /// Values of one group can be compared with each other.
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

    /// Numbers, and dates as their seconds.
    var isNumeric: Bool { group == .number || group == .date }

    var isText: Bool { group == .text }

    /// How an error message calls it.
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

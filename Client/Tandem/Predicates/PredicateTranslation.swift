public import FoundationEssentials
public import TandemModel
public import TandemQuery

extension ObjectPredicate {
    /// Translates a predicate of Swift's, by walking its tree.
    ///
    /// Objects, properties declared with ``Managed``, `id` and what is captured may be compared, calculated with, looked up in lists and ranges;
    /// texts may contain and start with others; to-many relationships take `contains`, `allSatisfy`, `filter`, `count` and `isEmpty`; optionals
    /// `?.`, `??`, `!` and `if let`, where nil is what it is in Swift: a chain that breaks off equals nil and nothing else. Throws
    /// `invalidPredicate` that names the expression for whatever else, `usage` for key paths of other properties. It is never evaluated,
    /// nor is the graph in memory. Cost: some tens of microseconds a key path.
    ///
    ///     let predicate = try ObjectPredicate(#Predicate<Team> { $0.wins > 3 && $0.players.contains { $0.goals > 5 } })
    public init<Object: ManagedObject>(_ predicate: Predicate<Object>) throws(TandemError) {
        var translation = PredicateTranslation()
        translation.variables[predicate.variable.key] = .selfObject
        self = try translation.predicate(predicate.expression)
    }
}

/// What is known while a tree is walked: what its variables stand for.
struct PredicateTranslation {
    /// What a part of the tree says.
    enum Part {
        /// A condition.
        case predicate(ObjectPredicate)
        /// A condition on an optional that isn't nil, which is nil itself where the optional is.
        case onValue(ObjectPredicate, Presence)
        /// A value; where that doesn't count, another or nil.
        case value(QueryExpression, or: Fallback?)
        /// The objects of a to-many relationship, perhaps some of them.
        case members(QueryExpression)
        /// From one value to another.
        case range(ValueRange)

        /// A value that may be nil, and what has to be there so that it isn't; nil for whatever else.
        var optional: (value: QueryExpression, needed: Presence)? {
            guard case .value(let value, let fallback) = self, fallback?.value == nil else {
                return nil
            }
            return (value, (fallback?.needed ?? Presence()).adding(value))
        }
    }

    var variables: [PredicateExpressions.VariableID: QueryExpression] = [:]
    private var elements = 0

    /// Any part of the tree.
    mutating func part(_ node: Any) throws(TandemError) -> Part {
        guard let node = node as? any TranslatedExpression else { throw Self.unknown(node) }
        return try node.part(&self)
    }

    /// A part that is a condition.
    mutating func predicate(_ node: Any) throws(TandemError) -> ObjectPredicate {
        switch try part(node) {
        case .predicate(let predicate): return predicate
        case .onValue(let predicate, let needed): return needed.and(predicate)
        case .value(.constant(.bool(let value)), nil): return .constant(value)
        case .value(let value, let other):
            return .either(value, other) {
                .comparison(Comparison($0, .equal, .constant(.bool(true))))
            }
        case .members, .range: throw Self.unknown(node, "is no condition")
        }
    }

    /// A part that is a value.
    mutating func value(_ node: Any) throws(TandemError) -> QueryExpression {
        guard case .value(let value, nil) = try part(node) else {
            throw Self.unknown(node, "is no single value here")
        }
        return value
    }

    /// A part that is objects of a to-many relationship.
    mutating func members(_ node: Any) throws(TandemError) -> QueryExpression {
        guard case .members(let members) = try part(node) else {
            throw Self.unknown(node, "is no to-many relationship")
        }
        return members
    }

    /// A condition on the elements of a collection, with the name of the variable that stands for one.
    mutating func condition(
        _ node: Any, on variable: PredicateExpressions.VariableID
    ) throws(TandemError) -> (variable: String, condition: ObjectPredicate) {
        elements += 1
        let name = "x\(elements)"
        variables[variable] = .variable(name, path: [])
        return (name, try predicate(node))
    }

    /// The error for a part that has no translation.
    static func unknown(_ node: Any, _ why: String = "can't be translated") -> TandemError {
        let type = "\(Swift.type(of: node))"
        let name = type.prefix { $0 != "<" }
        return TandemError(
            .invalidPredicate,
            "`\(name)` in a #Predicate \(why); write the predicate as text or with operators on key paths"
        )
    }
}

/// An expression of a `#Predicate` that has a translation.
protocol TranslatedExpression {
    func part(_ translation: inout PredicateTranslation) throws(TandemError)
        -> PredicateTranslation.Part
}

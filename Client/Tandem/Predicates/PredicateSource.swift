public import FoundationEssentials
import TandemModel
public import TandemQuery

/// A condition on objects, in any of its three forms.
///
/// The forms are operators on key paths (``TypedPredicate``), Foundation's `#Predicate`, and text
/// (``text(_:_:)``). They are interchangeable wherever a condition is expected:
///
///     try context.fetch(Team.self, where: \.wins > 3)
///     try context.fetch(Team.self, where: #Predicate { $0.wins > 3 })
///     try context.fetch(Team.self, where: .text("wins > %@", 3))
///
/// If a condition can't be translated, the error is thrown when the condition is used.
public protocol PredicateSource<Evaluation> {
    /// The type of a function that decides whether an object matches, such as
    /// `(Team) throws -> Bool`; it determines the class of the objects.
    associatedtype Evaluation

    /// The condition without the class.
    ///
    /// Throws `usage` for a key path that names no property, and `invalidPredicate` for text that
    /// can't be parsed and for an expression of a `#Predicate` that has no translation.
    var objectPredicate: ObjectPredicate { get throws(TandemError) }
}

extension TypedPredicate: PredicateSource {
    /// The type of a function that decides whether an object of the class matches.
    public typealias Evaluation = (Object) throws -> Bool
}

extension Predicate: PredicateSource {
    /// The type of the predicate's function.
    public typealias Evaluation = (repeat each Input) throws -> Bool

    /// The translation of the predicate's expression tree.
    ///
    /// - Objects, ``Managed`` properties, `id` and captured values may be compared, used in
    ///   arithmetic, and looked up in lists and ranges.
    /// - Strings support `contains` and `starts(with:)`.
    /// - To-many relationships support `contains`, `allSatisfy`, `filter`, `count` and `isEmpty`.
    /// - Optionals support `?.`, `??`, `!` and `if let`. Nil has Swift's semantics: an optional
    ///   chain that ends early equals nil and nothing else.
    ///
    /// Any other expression throws `invalidPredicate` with its name, and a key path to any other
    /// property throws `usage`. The predicate is not evaluated, and no object is read. Cost: a few
    /// tens of microseconds for the first use of a key path.
    public var objectPredicate: ObjectPredicate {
        get throws(TandemError) { try ObjectPredicate(self) }
    }
}

extension PredicateSource {
    /// Returns a condition written as text (<doc:Fetching>), with arguments for `%@` and `%K`.
    ///
    ///     try context.fetch(Team.self, where: .text("zone = %@ AND ANY players.goals > 5", zone))
    ///
    /// If the text is invalid or the number of arguments is wrong, using the condition throws
    /// `invalidPredicate`.
    public static func text<Object>(
        _ format: String, _ arguments: any PredicateOperand...
    ) -> Self where Self == TypedPredicate<Object> {
        TypedPredicate { () throws(TandemError) in
            try PredicateTree(format: format, arguments: arguments.map(\._predicateOperand))
        }
    }
}

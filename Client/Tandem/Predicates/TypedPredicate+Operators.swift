import TandemModel
public import TandemQuery

// MARK: Comparisons

/// What a key path reaches equals a value.
public func == <Object: ManagedObject, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .equal, value.predicateOperand)
}

/// What a key path reaches differs from a value.
public func != <Object: ManagedObject, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .notEqual, value.predicateOperand)
}

/// What a key path reaches is less than a value.
public func < <Object: ManagedObject, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .less, value.predicateOperand)
}

/// What a key path reaches is at most a value.
public func <= <Object: ManagedObject, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .lessOrEqual, value.predicateOperand)
}

/// What a key path reaches is greater than a value.
public func > <Object: ManagedObject, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .greater, value.predicateOperand)
}

/// What a key path reaches is at least a value.
public func >= <Object: ManagedObject, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .greaterOrEqual, value.predicateOperand)
}

/// What a key path reaches is one of these values.
public func ~= <Object: ManagedObject, Operand: PredicateOperand>(
    values: [Operand], keyPath: KeyPath<Object, Operand>
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .in, .list(values.map(\.predicateOperand)))
}

/// What a key path reaches lies within a range, both ends included.
public func ~= <Object: ManagedObject, Operand: PredicateOperand & Comparable>(
    range: ClosedRange<Operand>, keyPath: KeyPath<Object, Operand>
) -> TypedPredicate<Object> {
    let ends = [range.lowerBound, range.upperBound].map(\.predicateOperand)
    return TypedPredicate(keyPath, .between, .list(ends))
}

/// What a key path reaches lies within a range without its upper end.
public func ~= <Object: ManagedObject, Operand: PredicateOperand & Comparable>(
    range: Range<Operand>, keyPath: KeyPath<Object, Operand>
) -> TypedPredicate<Object> {
    keyPath >= range.lowerBound && keyPath < range.upperBound
}

// MARK: Texts

/// A text or an optional one.
public protocol TextOperand: PredicateOperand {}

extension String: TextOperand {}

extension Optional: TextOperand where Wrapped: TextOperand {}

/// Conditions on the text that a key path reaches: `(\Team.name).beginsWith("ca", .caseInsensitive)`.
extension KeyPath where Root: ManagedObject, Value: TextOperand {
    /// The text equals another after both are folded.
    public func equals(_ text: String, _ options: Comparison.Options) -> TypedPredicate<Root> {
        TypedPredicate(self, .equal, .constant(.string(text)), options)
    }

    /// The text begins with another.
    public func beginsWith(
        _ text: String, _ options: Comparison.Options = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .beginsWith, .constant(.string(text)), options)
    }

    /// The text contains another.
    public func contains(
        _ text: String, _ options: Comparison.Options = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .contains, .constant(.string(text)), options)
    }

    /// The text ends with another.
    public func endsWith(
        _ text: String, _ options: Comparison.Options = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .endsWith, .constant(.string(text)), options)
    }

    /// The text matches a pattern, where `?` is any one character and `*` any number of them.
    public func isLike(
        _ pattern: String, _ options: Comparison.Options = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .like, .constant(.string(pattern)), options)
    }
}

// MARK: To-many relationships

/// Conditions on the objects that a key path reaches: `(\Team.players).any(\.goals > 5)`.
extension KeyPath where Root: ManagedObject {
    /// The condition holds for at least one of the objects.
    public func any<Member: ManagedObject>(
        _ condition: TypedPredicate<Member>
    ) -> TypedPredicate<Root> where Value == Set<Member> {
        TypedPredicate { () throws(TandemError) in
            MemberCondition.any(try members, "x", in: try condition.objectPredicate.of("x"))
        }
    }

    /// The condition holds for all of the objects; of none it does.
    public func all<Member: ManagedObject>(
        _ condition: TypedPredicate<Member>
    ) -> TypedPredicate<Root> where Value == Set<Member> {
        TypedPredicate { () throws(TandemError) in
            MemberCondition.all(try members, "x", in: try condition.objectPredicate.of("x"))
        }
    }

    /// The condition holds for none of the objects.
    public func none<Member: ManagedObject>(
        _ condition: TypedPredicate<Member>
    ) -> TypedPredicate<Root> where Value == Set<Member> {
        !any(condition)
    }

    /// The condition holds for at least one of the objects of an ordered relationship.
    public func any<Member: ManagedObject>(
        _ condition: TypedPredicate<Member>
    ) -> TypedPredicate<Root> where Value == [Member] {
        TypedPredicate { () throws(TandemError) in
            MemberCondition.any(try members, "x", in: try condition.objectPredicate.of("x"))
        }
    }

    /// The condition holds for all of the objects of an ordered relationship; of none it does.
    public func all<Member: ManagedObject>(
        _ condition: TypedPredicate<Member>
    ) -> TypedPredicate<Root> where Value == [Member] {
        TypedPredicate { () throws(TandemError) in
            MemberCondition.all(try members, "x", in: try condition.objectPredicate.of("x"))
        }
    }

    /// The condition holds for none of the objects of an ordered relationship.
    public func none<Member: ManagedObject>(
        _ condition: TypedPredicate<Member>
    ) -> TypedPredicate<Root> where Value == [Member] {
        !any(condition)
    }

    private var members: QueryExpression {
        get throws(TandemError) { QueryExpression(try KeyPathTrace.path(of: self)) }
    }
}

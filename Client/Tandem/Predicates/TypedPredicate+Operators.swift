import TandemModel
public import TandemQuery

// MARK: Comparisons

// The operators require `ManagedEntity` rather than its superclass: from a superclass the compiler
// would infer `ManagedObject` as the root of a key path such as `\.wins`.

/// Matches objects whose value at a key path equals a value.
public func == <Object: ManagedEntity, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .equal, value.expression)
}

/// Matches objects whose value at a key path differs from a value.
public func != <Object: ManagedEntity, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .notEqual, value.expression)
}

/// Matches objects whose to-one relationship at a key path refers to an object.
public func == <Object: ManagedEntity, Target: ManagedObject>(
    keyPath: KeyPath<Object, Target?>, target: Target
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .equal, target.expression)
}

/// Matches objects whose to-one relationship at a key path doesn't refer to an object.
public func != <Object: ManagedEntity, Target: ManagedObject>(
    keyPath: KeyPath<Object, Target?>, target: Target
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .notEqual, target.expression)
}

/// Matches objects whose value at a key path is less than a value.
public func < <Object: ManagedEntity, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .less, value.expression)
}

/// Matches objects whose value at a key path is at most a value.
public func <= <Object: ManagedEntity, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .lessOrEqual, value.expression)
}

/// Matches objects whose value at a key path is greater than a value.
public func > <Object: ManagedEntity, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .greater, value.expression)
}

/// Matches objects whose value at a key path is at least a value.
public func >= <Object: ManagedEntity, Operand: PredicateOperand>(
    keyPath: KeyPath<Object, Operand>, value: Operand
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .greaterOrEqual, value.expression)
}

/// Matches objects whose value at a key path is one of these values.
public func ~= <Object: ManagedEntity, Operand: PredicateOperand>(
    values: [Operand], keyPath: KeyPath<Object, Operand>
) -> TypedPredicate<Object> {
    TypedPredicate(keyPath, .in, .list(values.map(\.expression)))
}

/// Matches objects whose value at a key path is in a range, including both bounds.
public func ~= <Object: ManagedEntity, Operand: PredicateOperand & Comparable>(
    range: ClosedRange<Operand>, keyPath: KeyPath<Object, Operand>
) -> TypedPredicate<Object> {
    let ends = [range.lowerBound, range.upperBound].map(\.expression)
    return TypedPredicate(keyPath, .between, .list(ends))
}

/// Matches objects whose value at a key path is in a range, excluding the upper bound.
public func ~= <Object: ManagedEntity, Operand: PredicateOperand & Comparable>(
    range: Range<Operand>, keyPath: KeyPath<Object, Operand>
) -> TypedPredicate<Object> {
    keyPath >= range.lowerBound && keyPath < range.upperBound
}

// MARK: Strings

/// A string or an optional string.
public protocol TextOperand: PredicateOperand {}

extension String: TextOperand {}

extension Optional: TextOperand where Wrapped: TextOperand {}

/// Operators on the string at a key path: `(\Team.name).beginsWith("ca", .caseInsensitive)`.
extension KeyPath where Root: ManagedObject, Value: TextOperand {
    /// Matches objects whose string equals `text` after both are folded.
    public func equals(_ text: String, _ options: ComparisonOptions) -> TypedPredicate<Root> {
        TypedPredicate(self, .equal, .constant(.string(text)), options)
    }

    /// Matches objects whose string begins with `text`.
    public func beginsWith(
        _ text: String, _ options: ComparisonOptions = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .beginsWith, .constant(.string(text)), options)
    }

    /// Matches objects whose string contains `text`.
    public func contains(
        _ text: String, _ options: ComparisonOptions = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .contains, .constant(.string(text)), options)
    }

    /// Matches objects whose string ends with `text`.
    public func endsWith(
        _ text: String, _ options: ComparisonOptions = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .endsWith, .constant(.string(text)), options)
    }

    /// Matches objects whose string matches a pattern, in which `?` stands for one character and
    /// `*` for any number of characters.
    public func isLike(
        _ pattern: String, _ options: ComparisonOptions = []
    ) -> TypedPredicate<Root> {
        TypedPredicate(self, .like, .constant(.string(pattern)), options)
    }
}

// MARK: To-many relationships

/// Conditions on the objects at a key path: `(\Team.players).any(\.goals > 5)`.
extension KeyPath where Root: ManagedObject, Value: Collection, Value.Element: ManagedObject {
    /// Matches if the condition holds for at least one of the objects.
    public func any(_ condition: TypedPredicate<Value.Element>) -> TypedPredicate<Root> {
        TypedPredicate { () throws(TandemError) in
            MemberCondition.any(try members, "x", in: try condition.tree.of("x"))
        }
    }

    /// Matches if the condition holds for all of the objects, or if there are none.
    public func all(_ condition: TypedPredicate<Value.Element>) -> TypedPredicate<Root> {
        TypedPredicate { () throws(TandemError) in
            MemberCondition.all(try members, "x", in: try condition.tree.of("x"))
        }
    }

    /// Matches if the condition holds for none of the objects.
    public func none(_ condition: TypedPredicate<Value.Element>) -> TypedPredicate<Root> {
        !any(condition)
    }

    private var members: QueryExpression {
        get throws(TandemError) { QueryExpression(try KeyPathRecorder.path(of: self)) }
    }
}

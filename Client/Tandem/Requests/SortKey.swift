import TandemModel
public import TandemQuery

/// One component of a sort order: a property of a class, and a direction.
///
/// Write it with a key path, or as text. In text, `-` before the key path means descending order. A
/// colon and a selector follow the key path if strings are not compared by code point.
///
///     try context.fetch(Team.self, sort: [.ascending(\.zone), .descending(\.wins)])
///     try context.fetch(Team.self, sort: ["zone", "-wins", "name:naturalCompare"])
///
/// Key paths may traverse to-one relationships (`\.team?.name`, `"team.name"`). Nil sorts before
/// all values. Ties are broken by the object number, ascending.
public struct SortKey<Object: ManagedObject>: Hashable, Sendable {
    /// The comparison of two values.
    public typealias Selector = SortSelector

    /// A description of the text that ``init(_:)`` accepts, for error messages.
    package static var form: String { SortComponent.form }

    private let parsed: Result<SortComponent, TandemError>

    fileprivate init(_ make: () throws(TandemError) -> SortComponent) {
        parsed = Result(catching: make)
    }

    /// Creates a component from a key path of properties declared with ``Managed``.
    ///
    /// A request with a key path that names no property throws `usage` when it is used.
    public init(
        _ keyPath: PartialKeyPath<Object>, ascending: Bool = true, selector: Selector = .compare
    ) {
        self.init { () throws(TandemError) in
            SortComponent(
                try KeyPathRecorder.name(of: keyPath), ascending: ascending, selector: selector)
        }
    }

    /// Creates a component from the text form of a key path, such as `team.name`.
    public init(_ keyPath: String, ascending: Bool, selector: Selector = .compare) {
        self.init(SortComponent(keyPath, ascending: ascending, selector: selector))
    }

    /// Creates a component from its untyped form.
    package init(_ component: SortComponent) { parsed = .success(component) }

    /// Returns a component that sorts the smallest value first.
    public static func ascending(
        _ keyPath: PartialKeyPath<Object>, _ selector: Selector = .compare
    ) -> SortKey { SortKey(keyPath, ascending: true, selector: selector) }

    /// Returns a component that sorts the greatest value first.
    public static func descending(
        _ keyPath: PartialKeyPath<Object>, _ selector: Selector = .compare
    ) -> SortKey { SortKey(keyPath, ascending: false, selector: selector) }

    /// The same component for objects of any class.
    package var untyped: SortKey<ManagedObject> {
        SortKey<ManagedObject> { () throws(TandemError) in try parsed.get() }
    }

    /// The component in the form that is sent to the daemon.
    ///
    /// Throws `usage` for a key path that names no property.
    package var component: SortComponent {
        get throws(TandemError) { try parsed.get() }
    }
}

extension SortKey: LosslessStringConvertible {
    /// Parses `name`, `-name` for descending or `name:naturalCompare`; returns nil if the name is
    /// missing or the selector is unknown.
    public init?(_ description: String) {
        guard let component = SortComponent(description) else { return nil }
        self.init(component)
    }

    /// The text that parses to this component, or the error's text if the key path names no
    /// property.
    public var description: String {
        switch parsed {
        case .success(let component): component.description
        case .failure(let error): error.description
        }
    }
}

extension SortKey: ExpressibleByStringLiteral {
    /// Creates a component from a literal: `"name"`, `"-wins"` for descending,
    /// `"name:naturalCompare"`.
    ///
    /// Traps if the name is missing or the selector is unknown.
    public init(stringLiteral value: String) { self.init(SortComponent(stringLiteral: value)) }
}

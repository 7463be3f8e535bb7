/// The way in which two values are compared.
public enum SortSelector: UInt8, Hashable, Sendable, CaseIterable {
    /// Numbers by value, texts by code point.
    case compare
    /// Texts after full Unicode case folding.
    case caseInsensitiveCompare
    /// Texts in natural order (``NaturalOrder``), with case folding: "File 2" before "File 10".
    case naturalCompare

    /// The name in the form of a method, `naturalCompare:`.
    @usableFromInline package var name: String { "\(self):" }

    /// Creates the selector with this name, with or without the final colon; returns nil for an
    /// unknown name.
    package init?(name: String) {
        guard let found = SortSelector.allCases.first(where: { $0.name == name || "\($0)" == name })
        else { return nil }
        self = found
    }

    /// All names, for error messages.
    package static var names: String { allCases.map(\.name).joined(separator: ", ") }
}

/// One component of a sort order.
///
/// The text form is a key path, preceded by `-` for descending order, and followed by a colon and
/// the selector unless that is ``SortSelector/compare``: `"wins"`, `"-wins"`,
/// `"-name:naturalCompare"`.
package struct SortComponent: Hashable, Sendable {
    package typealias Selector = SortSelector

    /// The attribute to compare, optionally through to-one relationships.
    package var keyPath: String
    /// Whether the order is ascending; nil sorts before all values.
    package var ascending: Bool
    /// The way in which two values are compared.
    package var selector: Selector

    /// Creates a component.
    package init(_ keyPath: String, ascending: Bool, selector: Selector = .compare) {
        self.keyPath = keyPath
        self.ascending = ascending
        self.selector = selector
    }

    /// Creates an ascending component with a selector.
    package init(_ keyPath: String, selector: Selector) {
        self.init(keyPath, ascending: true, selector: selector)
    }

    /// A description of the texts that ``init(_:)`` accepts, for errors.
    package static let form =
        "a key path, with - before it to sort descending, and :caseInsensitiveCompare or "
        + ":naturalCompare after it"
}

extension SortComponent: LosslessStringConvertible {
    /// Parses `name`, `-name` for descending or `name:naturalCompare`.
    ///
    /// Returns nil if the name is missing or the selector is unknown.
    package init?(_ description: String) {
        let descending = description.utf8.first == UInt8(ascii: "-")
        let rest = descending ? description.dropFirst() : description[...]
        let colon = rest.firstIndex(of: ":")
        let path = String(rest[..<(colon ?? rest.endIndex)])
        guard !path.isEmpty else { return nil }
        self.init(path, ascending: !descending)
        guard let colon else { return }
        guard let selector = Selector(name: String(rest[rest.index(after: colon)...])) else {
            return nil
        }
        self.selector = selector
    }

    /// The text that parses to this component.
    package var description: String {
        let path = ascending ? keyPath : "-\(keyPath)"
        return selector == .compare ? path : "\(path):\(selector)"
    }
}

extension SortComponent: ExpressibleByStringLiteral {
    /// Creates a component from a literal: `"name"`, `"-wins"` for descending,
    /// `"name:naturalCompare"`.
    ///
    /// Traps if the name is missing or the selector is unknown.
    package init(stringLiteral value: String) {
        guard let key = SortComponent(value) else {
            fatalError("\"\(value)\" is not a sort key; expected \(SortComponent.form).")
        }
        self = key
    }
}

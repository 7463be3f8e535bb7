/// One component of a sort order.
///
/// As text it is a key path, `-` before it for descending, and behind a colon how values are compared, where that is not
/// ``Selector/compare``: `"wins"`, `"-wins"`, `"-name:naturalCompare"`.
public struct SortKey: Hashable, Sendable {
    /// How two values are compared.
    public enum Selector: UInt8, Hashable, Sendable, CaseIterable {
        /// By number, text by code point.
        case compare
        /// Text after full Unicode case folding.
        case caseInsensitiveCompare
        /// Text after full Unicode case folding, digits by number (``NaturalOrder``): "File 2" before "File 10".
        case naturalCompare

        /// The name as of a method, `naturalCompare:`.
        public var name: String { "\(self):" }

        /// The selector of a name, with or without the colon at its end; nil if there is none.
        public init?(name: String) {
            guard let found = Selector.allCases.first(where: { $0.name == name || "\($0)" == name })
            else { return nil }
            self = found
        }

        /// All names, as an error lists them.
        public static var names: String { allCases.map(\.name).joined(separator: ", ") }
    }

    /// What is compared: an attribute, perhaps through to-one relationships.
    public var keyPath: String
    /// Whether small comes first; nil is smaller than everything.
    public var ascending: Bool
    /// How two values are compared.
    public var selector: Selector

    /// A component over a key path.
    public init(_ keyPath: String, ascending: Bool, selector: Selector = .compare) {
        self.keyPath = keyPath
        self.ascending = ascending
        self.selector = selector
    }

    /// An ascending component with a selector.
    public init(_ keyPath: String, selector: Selector) {
        self.init(keyPath, ascending: true, selector: selector)
    }

    /// What a text has to be for ``init(_:)``, for errors.
    public static let form =
        "a key path, - before it to sort descending, and :caseInsensitiveCompare or "
        + ":naturalCompare behind it"
}

extension SortKey: LosslessStringConvertible {
    /// Parses `name`, `-name` for descending or `name:naturalCompare`; nil without a name and for a selector that does not exist.
    public init?(_ description: String) {
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
    public var description: String {
        let path = ascending ? keyPath : "-\(keyPath)"
        return selector == .compare ? path : "\(path):\(selector)"
    }
}

extension SortKey: ExpressibleByStringLiteral {
    /// A component written as a literal: `"name"`, `"-wins"` for descending, `"name:naturalCompare"`.
    ///
    /// A literal without a name traps, and so does one with a selector that does not exist.
    public init(stringLiteral value: String) {
        guard let key = SortKey(value) else {
            preconditionFailure("\"\(value)\" is no sort key; expected \(SortKey.form).")
        }
        self = key
    }
}

public import FoundationEssentials
public import TandemModel

/// The values of an object before or after a change.
///
/// Values are read by name or by key path:
///
///     change.after?["title"]          // .string("Two")
///     change.after?[\.title]          // "Two"
///
/// Text or data that is too long for a row is a reference if it is read by name, and nil if it is
/// read by key path. ``PersistentContainer/text(of:)`` and ``PersistentContainer/content(of:)``
/// return the content of a reference while the store has it.
public struct HistoryValues<Object: ManagedObject>: Sendable {
    private let decoded: DecodedValues

    init(_ decoded: DecodedValues) { self.decoded = decoded }

    /// The names of the attributes and to-one relationships that the object had, sorted.
    public var names: [String] { decoded.all }

    /// Returns the value of an attribute or a to-one relationship by its current name.
    ///
    /// The value is `null` if the property had no value; nil if the object had no such property at
    /// that position.
    public subscript(name: String) -> PropertyValue? { decoded[name] }

    /// Returns the id of a to-one relationship's target, or nil if there was none.
    public func target(of relationship: String) -> ObjectID? {
        decoded[relationship]?.reference.map(decoded.names.id)
    }

    // MARK: Key paths

    /// Returns the value of an attribute; nil if it had no value, or if the object had no such
    /// attribute at that position.
    ///
    /// If the attribute's type has changed since, the value is converted as the migration converted
    /// it. Traps if the key path is not a single `@Managed` property.
    public subscript<Content: AttributeConvertible>(
        attribute: KeyPath<Object, Content>
    ) -> Content? { content(Self.name(of: attribute)) }

    /// Returns the value of an optional attribute; nil if it had no value, or if the object had no
    /// such attribute at that position.
    public subscript<Content: AttributeConvertible>(
        attribute: KeyPath<Object, Content?>
    ) -> Content? { content(Self.name(of: attribute)) }

    /// Returns the value of a URL attribute.
    public subscript(attribute: KeyPath<Object, URL?>) -> URL? {
        guard case .url(let text) = value(Self.name(of: attribute), as: .url) else { return nil }
        return URL(string: text)
    }

    /// Returns the id of a to-one relationship's target, or nil if there was none.
    public subscript<Target: ManagedObject>(
        relationship: KeyPath<Object, Target?>
    ) -> ObjectID? { target(of: Self.name(of: relationship)) }

    private func content<Content: AttributeConvertible>(_ name: String) -> Content? {
        value(name, as: Content.zero.attributeValue.type).flatMap { Content(attribute: $0) }
    }

    private func value(_ name: String, as type: AttributeType?) -> PropertyValue? {
        guard let value = decoded[name] else { return nil }
        guard let from = value.type, let type,
            let conversion = ValueConversion(from: from, to: type)
        else { return value }
        return conversion(value)
    }

    /// Returns the name of the property that a key path names; traps for any other key path.
    static func name(of property: PartialKeyPath<Object>) -> String {
        do {
            let names = try KeyPathRecorder.path(of: property).names
            if names.count == 1 { return names[0] }
            fatalError(
                "A change has only properties of its own object, but the key path names \(names).")
        } catch {
            fatalError("A change cannot be read by this key path: \(error.message).")
        }
    }
}

extension HistoryValues: CustomStringConvertible {
    /// The values by name, as JSON.
    public var description: String {
        JSON.object(
            Dictionary(
                uniqueKeysWithValues: decoded.all.map { name in
                    (
                        name,
                        target(of: name).map { .string($0.description) } ?? decoded[name]?.json
                            ?? .null
                    )
                })
        ).text
    }
}

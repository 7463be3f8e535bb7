public import FoundationEssentials
public import TandemModel

/// The values of an object, read without creating the object.
///
///     struct PlayerRow: ObjectValue {
///         let name: String
///         let team: String?
///         init(_ player: RowReader<Player>) {
///             name = player.name
///             team = player.team?.name
///         }
///     }
///
/// A reader has the ``Managed`` properties of the class `Object` as members: attributes return
/// their values, and relationships return readers of their targets. The values always equal the
/// object's values, including pending edits, and reads are observed like reads of the object.
/// Reading a property that is not declared with `@Managed` traps; read it from the ``object``.
///
/// A row is read in place, from the answer to a fetch, as long as the context has not loaded the
/// object and stays at the answer's position. A reader retains the answer and the context.
@dynamicMemberLookup
public struct RowReader<Object: ManagedObject> {
    @usableFromInline let source: RowSource

    /// Creates a reader of a source whose class was checked.
    @inlinable
    init(_ source: RowSource) { self.source = source }

    /// Creates a reader of a source, or nil if its object is not of the class.
    @inlinable
    init?(checking source: RowSource) {
        let type = source.type
        guard type == Object.self || type is Object.Type else { return nil }
        self.source = source
    }

    /// Creates a reader of an object.
    public init(_ object: Object) { source = .object(object) }

    /// The id of the object.
    @inlinable public var id: ObjectID { source.id }

    /// The position of the save that last changed the object's row; 0 if the row isn't loaded.
    @inlinable public var version: UInt64 { source.version }

    /// The object, which is created in the context if necessary.
    ///
    /// It is released like any other object if it is not retained.
    public var object: Object {
        guard let object = source.object as? Object else {
            fatalError("\(id) is not of the class \(Object.self).")
        }
        return object
    }

    /// Returns a reader of the object as an instance of a different class, or nil if it is not of
    /// that class.
    public func cast<Other: ManagedObject>(to type: Other.Type) -> RowReader<Other>? {
        RowReader<Other>(checking: source)
    }

    // MARK: Attributes

    /// The value of an attribute.
    ///
    /// Traps if the key path does not name a ``Managed`` property.
    @inlinable
    public subscript<Content: AttributeConvertible>(
        dynamicMember attribute: KeyPath<Object, Content>
    ) -> Content {
        switch Content._inPlace(_RowAttribute(source, _ManagedName(attribute))) {
        case .some(.some(let content)): content
        case .some(.none): .zero
        case .none: read(attribute)
        }
    }

    /// The value of an optional attribute.
    @inlinable
    public subscript<Content: AttributeConvertible>(
        dynamicMember attribute: KeyPath<Object, Content?>
    ) -> Content? {
        switch Content._inPlace(_RowAttribute(source, _ManagedName(attribute))) {
        case .some(let content): content
        case .none: read(attribute)
        }
    }

    /// The value of a URL attribute.
    public subscript(dynamicMember attribute: KeyPath<Object, URL?>) -> URL? {
        let found = _RowAttribute(source, _ManagedName(attribute)).converted { $0.url }
        return found ?? readURL(attribute)
    }

    // MARK: Relationships

    /// A reader of the target of a to-one relationship, or nil if there is none.
    ///
    /// No object is created, and nothing is loaded before a property of the target is read.
    @inlinable
    public subscript<Target: ManagedObject>(
        dynamicMember relationship: KeyPath<Object, Target?>
    ) -> RowReader<Target>? {
        let target = source.target(_ManagedName(relationship)) ?? readTarget(relationship)
        return target.flatMap { RowReader<Target>(checking: $0) }
    }

    /// Readers of the targets of a to-many relationship; may block to load the ids of the targets.
    ///
    /// The readers are sorted by the numbers of the targets.
    public subscript<Target: ManagedObject>(
        dynamicMember relationship: KeyPath<Object, Set<Target>>
    ) -> [RowReader<Target>] { readMembers(relationship) }

    /// Readers of the targets of an ordered to-many relationship, in order; may block to load the
    /// ids of the targets.
    public subscript<Target: ManagedObject>(
        dynamicMember relationship: KeyPath<Object, [Target]>
    ) -> [RowReader<Target>] { readMembers(relationship) }
}

extension RowReader where Object: ManagedEntity {
    /// The id, together with the class.
    public var typedID: TypedID<Object> { TypedID(id) }
}

// Reads through key paths that are not cached yet, and reads of values that are not in a row.
extension RowReader {
    @usableFromInline
    func read<Content: AttributeConvertible>(_ attribute: KeyPath<Object, Content>) -> Content {
        let end = end(of: attribute)
        switch Content._inPlace(_RowAttribute(end.source, end.key)) {
        case .some(.some(let content)): return content
        case .some(.none): return .zero
        case .none: return end.withName { Content._read(from: end.source.object, named: $0) }
        }
    }

    @usableFromInline
    func read<Content: AttributeConvertible>(_ attribute: KeyPath<Object, Content?>) -> Content? {
        let end = end(of: attribute)
        if case .some(let content) = Content._inPlace(_RowAttribute(end.source, end.key)) {
            return content
        }
        return end.withName { Content._readOptional(from: end.source.object, named: $0) }
    }

    private func readURL(_ attribute: KeyPath<Object, URL?>) -> URL? {
        let end = end(of: attribute)
        return end.withName { URL._readOptional(from: end.source.object, named: $0) }
    }

    @usableFromInline
    func readTarget<Target>(_ relationship: KeyPath<Object, Target?>) -> RowSource? {
        let end = end(of: relationship)
        return end.source.target(named: end.name)
    }

    private func readMembers<Target: ManagedObject, Members>(
        _ relationship: KeyPath<Object, Members>
    ) -> [RowReader<Target>] {
        let end = end(of: relationship)
        return end.source.object.orderedObjects(end.name).compactMap {
            RowReader<Target>(checking: .object($0))
        }
    }

    private func end<Content>(of keyPath: KeyPath<Object, Content>) -> RowSource.End {
        do {
            let names = try KeyPathRecorder.path(of: keyPath).names
            guard names.count == 1, let name = names.first else {
                fatalError(
                    "A row reads one property at a time, not the path \(names.joined(separator: ".")); "
                        + "write `row.\(names.joined(separator: "?."))`.")
            }
            return source.end(of: keyPath, name)
        } catch {
            fatalError("A row cannot be read by this key path: \(error.message).")
        }
    }
}

extension PropertyValue {
    fileprivate var url: URL? {
        guard case .url(let text) = self else { return nil }
        return URL(string: text)
    }
}

import TandemModel

/// The source from which a ``RowReader`` reads an object's values.
@usableFromInline
enum RowSource {
    /// A row of an answer, by its index.
    case row(RowsAnswer, Int)
    /// An object that a row of an answer refers to; the object's own row may not be loaded.
    case target(RowsAnswer, ObjectReference)
    /// An object of the context.
    case object(ManagedObject)

    /// The answer and the reference of the object; nil if the source is an object.
    private var answered: (answer: RowsAnswer, reference: ObjectReference)? {
        switch self {
        case .row(let answer, let index): (answer, answer.reference(at: index))
        case .target(let answer, let reference): (answer, reference)
        case .object: nil
        }
    }

    @usableFromInline
    var id: ObjectID {
        switch self {
        case .row(let answer, let index): answer.id(of: answer.reference(at: index))
        case .target(let answer, let reference): answer.id(of: reference)
        case .object(let object): object.id
        }
    }

    @usableFromInline
    var version: UInt64 {
        if case .row(let answer, let index) = self, let version = answer.version(at: index) {
            return version
        }
        return object.version
    }

    /// The object, which is created in the context if necessary.
    @usableFromInline
    var object: ManagedObject {
        switch self {
        case .row(let answer, let index): answer.object(at: index)
        case .target(let answer, let reference): answer.object(reference)
        case .object(let object): object
        }
    }

    /// The class of the object.
    @usableFromInline
    var type: ManagedObject.Type {
        switch self {
        case .row(let answer, let index): answer.type(of: answer.reference(at: index))
        case .target(let answer, let reference): answer.type(of: reference)
        case .object(let object): Swift.type(of: object)
        }
    }

    /// This source, or the object as a source if the context has moved since the answer was read.
    private var current: RowSource {
        guard let answered, !answered.answer.isCurrent else { return self }
        return .object(object)
    }

    // MARK: Properties

    /// Reads a property from the row in place.
    ///
    /// Returns nil if that is not possible, and a wrapped nil if the property has no value.
    @inline(__always)
    func inPlace<Result>(
        _ name: ManagedName, _ read: (RowView, RowColumn) -> Result?
    ) -> Result?? {
        switch self {
        case .row(let answer, let index): answer.inPlace(index, name, read)
        case .target(let answer, let reference): answer.inPlace(reference, nil, name, read)
        case .object(let object): object.inPlace(name, read)
        }
    }

    /// Reads an attribute's value from the row in place.
    ///
    /// Returns nil if that is not possible; this includes content stored outside the row.
    func value(_ name: ManagedName) -> PropertyValue? {
        let value =
            switch self {
            case .row(let answer, let index): answer.value(index, name)
            case .target(let answer, let reference): answer.value(reference, nil, name)
            case .object(let object): object.inPlaceValue(name)
            }
        return value.flatMap { $0.outside == nil ? $0 : nil }
    }

    /// Returns the target of a to-one relationship, or a wrapped nil if there is none.
    ///
    /// Returns nil if the relationship can't be read in place.
    @usableFromInline
    func target(_ name: ManagedName) -> RowSource?? {
        guard case .some(let found) = inPlace(name, { $0.reference($1) }) else { return nil }
        switch self {
        case .row(let answer, _), .target(let answer, _):
            return .some(found.flatMap { answer.target($0) })
        case .object(let object):
            return .some(found.flatMap { object.target($0) }.map { .object($0) })
        }
    }

    /// The last property of a path.
    struct End {
        let source: RowSource
        let name: String
        /// Whether the property is declared as optional.
        let isOptional: Bool
        /// The key under which the property is cached.
        let key: ManagedName

        /// Calls `body` with the property's name, which is retained meanwhile.
        func withName<Result>(_ body: (ManagedName) -> Result) -> Result {
            withExtendedLifetime(name) { body(ManagedName(name)) }
        }
    }

    /// Caches and returns the last property of a key path, so that it can be read in place.
    ///
    /// Returns nil if a relationship on the path has no target.
    func end(of keyPath: AnyKeyPath, _ path: KeyPathRecorder.Path) -> End? {
        guard let last = path.names.last else {
            fatalError("\(keyPath) names no property of \(type).")
        }
        var source = current
        for name in path.names.dropLast() {
            guard let next = source.target(named: name) else { return nil }
            source = next
        }
        if path.names.count == 1 {
            source.cache(keyPath, last)
        } else {
            source.cache(last)
        }
        let key = path.names.count == 1 ? ManagedName(keyPath) : ManagedName(last)
        return End(source: source, name: last, isOptional: path.isOptional, key: key)
    }

    /// Returns the target of a to-one relationship by name; nil if there is none.
    func target(named name: String) -> RowSource? {
        cache(name)
        if case .some(let target) = target(ManagedName(name)) { return target }
        return object.object(name).map { .object($0) }
    }

    /// The cache of the context's properties, and the entity of the object.
    private var declaring: (properties: PropertyCache, entity: CompiledEntity)? {
        if case .object(let object) = self { return (object.properties, object.record.entity) }
        return answered.flatMap { answer, reference in
            answer.model.entity(tagged: reference.tag).map { (answer.properties, $0) }
        }
    }

    private func cache(_ keyPath: AnyKeyPath, _ name: String) {
        declaring.map { $0.properties.cache(keyPath, name, of: $0.entity) }
    }

    private func cache(_ name: String) {
        _ = declaring.map { $0.properties.property(ManagedName(name), of: $0.entity) }
    }
}

/// An attribute that a ``RowReader`` reads in place.
public struct RowAttribute {
    private let source: RowSource
    private let name: ManagedName

    /// Creates the attribute for a name or key path that the caller retains.
    @usableFromInline
    init(_ source: RowSource, _ name: ManagedName) { (self.source, self.name) = (source, name) }

    /// Converts the value; returns nil if the value has to be read through the object.
    func converted<Content>(_ convert: (PropertyValue) -> Content?) -> Content?? {
        guard let value = source.value(name) else { return nil }
        if value.isNull { return .some(nil) }
        return convert(value).map { .some($0) }
    }

    // Each of these methods returns nil if the value has to be read through the object, and a
    // wrapped nil if there is no value.

    @usableFromInline
    func bool() -> Bool?? { source.inPlace(name) { $0.bool($1) } }

    @usableFromInline
    func int() -> Int64?? { source.inPlace(name) { $0.int($1) } }

    @usableFromInline
    func double() -> Double?? { source.inPlace(name) { $0.double($1) } }

    /// Returns the seconds since 1970.
    @usableFromInline
    func date() -> Double?? { source.inPlace(name) { $0.date($1) } }

    @usableFromInline
    func text() -> String?? { source.inPlace(name) { $0.text($1) } }
}

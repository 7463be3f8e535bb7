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
        _ name: _ManagedName, _ read: (RowView, RowColumn) -> Result?
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
    func value(_ name: _ManagedName) -> PropertyValue? {
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
    func target(_ name: _ManagedName) -> RowSource?? {
        guard case .some(let found) = inPlace(name, { $0.reference($1) }) else { return nil }
        switch self {
        case .row(let answer, _), .target(let answer, _):
            return .some(found.flatMap { answer.target($0) })
        case .object(let object):
            return .some(found.flatMap { object.target($0) }.map { .object($0) })
        }
    }

    /// A property and the source that has it.
    struct End {
        let source: RowSource
        let name: String
        /// The key under which the property is cached.
        let key: _ManagedName

        /// Calls `body` with the property's name, which is retained meanwhile.
        func withName<Result>(_ body: (_ManagedName) -> Result) -> Result {
            withExtendedLifetime(name) { body(_ManagedName(name)) }
        }
    }

    /// Caches and returns the property of a key path, so that it can be read in place.
    func end(of keyPath: AnyKeyPath, _ name: String) -> End {
        let source = current
        source.declaring.map { $0.properties.cache(keyPath, name, of: $0.entity) }
        return End(source: source, name: name, key: _ManagedName(keyPath))
    }

    /// Returns the target of a to-one relationship by name; nil if there is none.
    func target(named name: String) -> RowSource? {
        cache(name)
        if case .some(let target) = target(_ManagedName(name)) { return target }
        return object.object(name).map { .object($0) }
    }

    /// The cache of the context's properties, and the entity of the object.
    private var declaring: (properties: PropertyCache, entity: CompiledEntity)? {
        if case .object(let object) = self { return (object.properties, object.record.entity) }
        return answered.flatMap { answer, reference in
            answer.model.entity(tagged: reference.tag).map { (answer.properties, $0) }
        }
    }

    private func cache(_ name: String) {
        _ = declaring.map { $0.properties.property(_ManagedName(name), of: $0.entity) }
    }
}

/// An attribute that a ``RowReader`` reads in place.
public struct _RowAttribute {
    private let source: RowSource
    private let name: _ManagedName

    /// Creates the attribute for a name or key path that the caller retains.
    @usableFromInline
    init(_ source: RowSource, _ name: _ManagedName) { (self.source, self.name) = (source, name) }

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

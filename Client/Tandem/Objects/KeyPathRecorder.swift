import FoundationEssentials
import TandemModel
import TandemQuery

/// Finds the properties that a key path reads, by evaluating it on probe objects without a context.
///
/// Swift does not report which properties a key path names. The recorder therefore applies the key
/// path to a probe object, which records reads of its ``Managed`` properties and returns further
/// probe objects for its relationships. The key path is evaluated once for each of several
/// ``Samples``, which differ in every value. This detects computed properties: for at least one
/// sample, they read other properties, or return a value that differs from the value of the
/// property that they read.
///
/// State: the properties read so far, in order, each with the index of its object on the path.
final class KeyPathRecorder {
    /// The names of the properties on a key path.
    struct Path: Equatable {
        /// The names of the properties; empty for the object itself.
        var names: [String]
        /// Whether the last property is a to-many relationship.
        var isToMany = false

        static let itself = Path(names: [])
    }

    /// A read of a property of the object at an index on the path.
    private struct Read {
        let place: Int
        /// The declarations of the property; a class may have several.
        let declarations: [any ManagedDeclaration]
        let object: ManagedObject
    }

    private var reads: [Read] = []
    private var objects: [ManagedObject] = []
    private let samples: Samples

    private init(_ samples: Samples) { self.samples = samples }

    /// Returns the property names of a key path.
    ///
    /// Throws `usage` if the key path reads anything but `@Managed` properties and, at its end, an
    /// `id`. Cost: tens of microseconds for the first call with a key path, then a table lookup.
    static func path<Root>(of keyPath: PartialKeyPath<Root>) throws(TandemError) -> Path {
        if let known = KeyPathCache[keyPath] { return known }
        let found = try trace(keyPath)
        KeyPathCache.store(keyPath, found)
        return found
    }

    /// Returns the names of a key path as text, such as `team.name`.
    ///
    /// Throws `usage` if the key path reads anything but `@Managed` properties.
    static func name<Root>(of keyPath: PartialKeyPath<Root>) throws(TandemError) -> String {
        let names = try path(of: keyPath).names
        guard !names.isEmpty else { throw unknown(keyPath, "it is the object itself") }
        return names.joined(separator: ".")
    }

    private static func trace<Root>(
        _ keyPath: PartialKeyPath<Root>
    ) throws(TandemError) -> Path {
        var found: Path?
        for samples in Samples.allCases {
            let recorder = KeyPathRecorder(samples)
            guard let type = Root.self as? ManagedObject.Type,
                let start = recorder.next(type) as? Root
            else { throw unknown(keyPath, "it does not begin at an object") }
            let path = try recorder.path(start[keyPath: keyPath], keyPath)
            guard found.map({ $0 == path }) ?? true else {
                throw unknown(keyPath, "the properties that it reads depend on values")
            }
            found = path
        }
        return found ?? .itself
    }

    /// Returns a new probe object, on which the evaluation of the path continues.
    func next(_ type: ManagedObject.Type) -> ManagedObject {
        let object = TracedObject.make(type, number: .max - UInt64(objects.count), samples)
        object.follow(KeyPathProbe(recorder: self, place: objects.count))
        objects.append(object)
        return object
    }

    /// Records that a property of the object at this index on the path was read.
    fileprivate func record(_ property: CompiledProperty, at place: Int) {
        let object = objects[place]
        let declarations = TracedObject.declarations(of: object)[property.name] ?? []
        guard !declarations.isEmpty else { return }
        reads.append(Read(place: place, declarations: declarations, object: object))
    }

    // MARK: Results

    private func path(_ value: Any, _ keyPath: AnyKeyPath) throws(TandemError) -> Path {
        let isChain = reads.indices.allSatisfy { reads[$0].place == $0 }
        let names = reads.compactMap(\.declarations.first?.name)
        if isChain, isID(value) { return Path(names: names) }
        guard isChain, let last = reads.last, objects.count <= names.count + 1,
            let shown = last.declarations.first(where: { isShown(value, by: $0, of: last.object) })
        else {
            let found =
                names.isEmpty
                ? "reads none" : "is computed from `\(names.joined(separator: "`, `"))`"
            throw Self.unknown(
                keyPath, "it must name properties declared with @Managed, but \(found)")
        }
        return Path(names: names, isToMany: shown.isSet)
    }

    /// Whether the path ends at the id of its last object.
    private func isID(_ value: Any) -> Bool {
        guard let end = value as? ObjectID, objects.count == reads.count + 1 else { return false }
        return end == objects.last?.id
    }

    /// Whether the value is the property's own value and not derived from it.
    private func isShown(
        _ value: Any, by shown: any ManagedDeclaration, of object: ManagedObject
    ) -> Bool {
        guard let end = value as? ManagedObject else {
            return shown.isLike(Swift.type(of: value))
                && AnyOperand.expression(of: value)
                    == AnyOperand.expression(of: TracedObject.value(of: object, shown))
        }
        return end === objects.last
    }

    private static func unknown(_ keyPath: AnyKeyPath, _ why: String) -> TandemError {
        TandemError(
            .usage,
            "the key path from \(Swift.type(of: keyPath).rootType) to "
                + "\(Swift.type(of: keyPath).valueType) names no property: \(why)")
    }
}

/// Records the reads of a probe object's properties.
private struct KeyPathProbe: PropertyProbe {
    let recorder: KeyPathRecorder
    let place: Int

    func record(_ property: CompiledProperty) { recorder.record(property, at: place) }

    func next<Object: ManagedObject>(_ type: Object.Type) -> Object? {
        recorder.next(type) as? Object
    }
}

/// The values of the probe objects' attributes.
private enum Samples: CaseIterable {
    /// Values that are unlikely to be constants in a program.
    case strange
    /// Their opposites: false, other signs, a string with both cases and spaces.
    case opposite
    /// Null in all attributes.
    case none

    func value(of type: AttributeType) -> PropertyValue? {
        switch self {
        case .strange: Self.strange(type)
        case .opposite: Self.opposite(type)
        case .none: nil
        }
    }

    private static func strange(_ type: AttributeType) -> PropertyValue? {
        switch type {
        case .bool: .bool(true)
        case .int: .int(0x5461_6e64)
        case .double: .double(-84.97109)
        case .decimal: Decimal(string: "-84.97109").map { .decimal($0) }
        case .string: .string("\u{f8ff}\u{f8fe}")
        case .date: .date(-84_971_097.5)
        case .data: .data([0x54, 0x61, 0x6e])
        case .uuid: UUID(uuidString: "54616E64-656D-4000-8000-54616E64656D").map { .uuid($0) }
        case .url: .url("traced:tandem")
        }
    }

    private static func opposite(_ type: AttributeType) -> PropertyValue? {
        switch type {
        case .bool: .bool(false)
        case .int: .int(-0x6d65_646e)
        case .double: .double(68.45109)
        case .decimal: Decimal(string: "68.45109").map { .decimal($0) }
        case .string: .string(" aB\u{301} c ")
        case .date: .date(4_102_444_800.25)
        case .data: .data([])
        case .uuid: UUID(uuidString: "6D656454-6E61-4000-8000-6D656D616E54").map { .uuid($0) }
        case .url: .url("https://tandem.example/a%20b?c#d")
        }
    }
}

/// Creates objects without a context or model, with sample values in their attributes.
private enum TracedObject {
    static func make(
        _ type: ManagedObject.Type, number: ObjectNumber, _ samples: Samples
    ) -> ManagedObject {
        let reference = ObjectReference(tag: 1, number: number)
        let blank = ObjectRecord(reference, entity([]))
        let object = type.init(binding: ObjectBinding(context: nil, record: blank))
        let shown = declarations(of: object).values.compactMap(\.first).sorted {
            $0.name < $1.name
        }
        let record = ObjectRecord(reference, entity(shown))
        var sample = Edits()
        sample.kind = .insert
        for (slot, property) in record.entity.properties.enumerated() {
            sample.values[slot] =
                property.attribute.flatMap { samples.value(of: $0.type) } ?? .null
        }
        record.replacePending(by: sample)
        object.rebind(to: record)
        return object
    }

    /// Returns the ``Managed`` properties by name.
    static func declarations(of object: ManagedObject) -> [String: [any ManagedDeclaration]] {
        var found: [String: [any ManagedDeclaration]] = [:]
        var mirror: Mirror? = Mirror(reflecting: object)
        while let current = mirror {
            for case let shown as any ManagedDeclaration in current.children.map(\.value) {
                found[shown.name, default: []].append(shown)
            }
            mirror = current.superclassMirror
        }
        return found
    }

    /// Returns the value of a property.
    static func value(of object: ManagedObject, _ shown: any ManagedDeclaration) -> Any {
        object.entity.property(named: shown.name) == nil ? () : shown.read(from: object)
    }

    /// Returns an entity with all properties as attributes, because relationships would need
    /// inverses.
    private static func entity(_ shown: [any ManagedDeclaration]) -> CompiledEntity {
        let model = ManagedObjectModel {
            Entity("Traced") {
                for property in shown { Attribute(property.name, property.attributeType ?? .int) }
            }
        }
        guard let entity = try? CompiledModel(model).entity(named: "Traced") else {
            fatalError("The names of a class's @Managed properties must be identifiers.")
        }
        return entity
    }
}

extension ManagedDeclaration {
    /// Whether a value at the end of a path has this property's type, apart from optionals.
    fileprivate func isLike(_ type: Any.Type) -> Bool {
        Unwrapped.type(type) == Unwrapped.type(self.type)
    }

    /// The type of the property's attribute; nil for a relationship.
    fileprivate var attributeType: AttributeType? {
        let type = Unwrapped.type(type)
        if let convertible = type as? any AttributeConvertible.Type {
            return convertible.zero.attributeValue.type
        }
        return type is URL.Type ? .url : nil
    }
}

/// Unwraps optional types.
private enum Unwrapped {
    static func type(_ type: Any.Type) -> Any.Type {
        (type as? any OptionalDeclaration.Type).map { self.type($0.wrapped) } ?? type
    }
}

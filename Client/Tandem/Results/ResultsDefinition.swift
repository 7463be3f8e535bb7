import TandemModel
import TandemResults

/// The source of section identifiers.
enum SectionNaming<SectionIdentifier: Hashable, Element> {
    /// Computed from the section name at the section key path.
    case byName((String) -> SectionIdentifier)
    /// Computed from the first element.
    case byElement((Element) -> SectionIdentifier)
}

/// The kind of a list's elements, and the identifiers of its sections.
struct ResultsDefinition<SectionIdentifier: Hashable, Element> {
    typealias Naming = SectionNaming<SectionIdentifier, Element>

    /// The name of the entity; nil for a list of literal values only.
    let entity: String?
    let naming: Naming
    /// Whether elements are values, which can't be updated in place.
    let isValue: Bool
    /// Registers the elements' class with a context.
    let register: (ManagedObjectContext) -> Void
    /// Throws `usage` if the context has objects, or will create objects, that can't be elements.
    let check: (ManagedObjectContext) throws -> Void
    /// Creates the element for an object.
    let makeElement: (ManagedObject) -> Element

    /// Creates the definition of a list of objects.
    static func objects(_ naming: Naming) -> Self where Element: ManagedEntity {
        made(of: Element.self, naming, isValue: false) { $0 }
    }

    /// Creates the definition of a list of values made from objects.
    static func values(_ naming: Naming) -> Self where Element: ObjectValue {
        made(of: Element.Object.self, naming, isValue: true) { Element(RowReader($0)) }
    }

    /// Creates the definition of a list of literal values of any type.
    static func literals(_ naming: Naming) -> Self {
        ResultsDefinition(
            entity: nil, naming: naming, isValue: true, register: { _ in }, check: { _ in },
            makeElement: {
                fatalError("\($0.id) is not an element of a list of literal values.")
            })
    }

    private static func made<Object: ManagedEntity>(
        of type: Object.Type, _ naming: Naming, isValue: Bool,
        _ make: @escaping (Object) -> Element
    ) -> Self {
        ResultsDefinition(
            entity: Object.entity.name, naming: naming, isValue: isValue,
            register: { $0.core.registerIfNeeded(type) },
            check: { try $0.checkClass(type) },
            makeElement: { object in
                guard let element = object as? Object else {
                    fatalError("\(object.id) is not of the entity \(Object.entity.name).")
                }
                return make(element)
            })
    }

    /// Returns the sections of literal values, each formed by adjacent values with the same
    /// identifier, or one section if there are no identifiers.
    ///
    /// Throws `usage` if there is a section key path, but the values are not objects and have no
    /// section names.
    func sections(
        of values: [Element], by name: ((Element) -> String)?, _ keyPath: String?
    ) throws(TandemError) -> [(id: SectionIdentifier, range: Range<Int>)] {
        let identify: (Element) -> SectionIdentifier
        switch (naming, name, keyPath) {
        case (.byElement(let found), _, _): identify = found
        case (.byName(let named), let name?, _): identify = { named(name($0)) }
        case (.byName(let named), nil, nil): return [(named(""), 0..<values.count)]
        case (.byName(let named), nil, let keyPath?):
            guard values.allSatisfy({ $0 is ManagedObject }) else {
                throw TandemError(
                    .usage,
                    "literal values have no section name at \(keyPath); use .values(…, sectionName:)"
                )
            }
            identify = { named(($0 as? ManagedObject)?.sectionName(at: keyPath) ?? "") }
        }
        return joined(values.indices.map { $0..<($0 + 1) }) { identify(values[$0]) }
    }

    /// Returns the sections formed by adjacent ranges whose first elements have the same
    /// identifier.
    func joined(
        _ ranges: [Range<Int>], by identifier: (Int) -> SectionIdentifier
    ) -> [(id: SectionIdentifier, range: Range<Int>)] {
        var sections: [(id: SectionIdentifier, range: Range<Int>)] = []
        for range in ranges where !range.isEmpty {
            let id = identifier(range.lowerBound)
            if let last = sections.last, last.id == id {
                sections[sections.count - 1].range = last.range.lowerBound..<range.upperBound
            } else {
                sections.append((id, range))
            }
        }
        return sections
    }
}

extension ManagedObject {
    /// Returns the object's section name at a key path through to-one relationships.
    fileprivate func sectionName(at keyPath: String) -> String {
        var names = keyPath.split(separator: ".").map(String.init)
        guard let last = names.popLast() else { return "" }
        var object: ManagedObject? = self
        for name in names { object = object?.object(name) }
        return object.map { $0[last].sectionName } ?? ""
    }
}

extension ContextPart {
    /// Throws `usage` if existing or future objects of the entity do not have this class.
    func checkClass<Object: ManagedEntity>(_ type: Object.Type) throws(TandemError) {
        guard let model = session?.model, let entity = model.entity(named: Object.entity.name)
        else { return }
        for tag in [entity.tag] + entity.descendants {
            guard let entity = model.entity(tagged: tag) else { continue }
            let other = core.type(for: entity, in: model)
            if other is Object.Type { continue }
            throw TandemError(
                .usage, "objects of \(entity.name) have the class \(other), not \(type)")
        }
        guard core.hasLateClasses else { return }
        for record in graph where entity.includes(record.reference.tag) {
            guard let object = record.object, !(object is Object) else { continue }
            throw TandemError(
                .usage,
                "\(object.id) was created before the class \(type) was known; pass the class to the container's initializer"
            )
        }
    }
}

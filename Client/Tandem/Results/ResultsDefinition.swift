import TandemResults

/// How the sections of a list are called.
enum SectionNaming<SectionIdentifier: Hashable, Element> {
    /// By the name that the section key path gives.
    case byName((String) -> SectionIdentifier)
    /// By what the first element says.
    case byElement((Element) -> SectionIdentifier)
}

/// What the elements of a list are, and what its sections are called.
struct ResultsDefinition<SectionIdentifier: Hashable, Element> {
    typealias Naming = SectionNaming<SectionIdentifier, Element>

    let entity: String
    let naming: Naming
    /// Whether elements are values, which can't tell that they are out of date.
    let isValue: Bool
    /// Tells a context of the elements' class.
    let register: (ManagedObjectContext) -> Void
    /// The element of an object.
    let make: (ManagedObject) -> Element

    /// Elements that are objects themselves.
    static func objects(_ naming: Naming) -> Self where Element: ManagedEntity {
        ResultsDefinition(
            entity: Element.entity.name, naming: naming, isValue: false,
            register: { $0.core.register(Element.self) },
            make: { object in
                guard let element = object as? Element else {
                    preconditionFailure("\(object.id) is no \(Element.entity.name).")
                }
                return element
            })
    }

    /// Elements that are values made of objects.
    static func values(_ naming: Naming) -> Self where Element: ObjectValue {
        ResultsDefinition(
            entity: Element.Object.entity.name, naming: naming, isValue: true,
            register: { $0.core.register(Element.Object.self) },
            make: { object in
                guard let object = object as? Element.Object else {
                    preconditionFailure("\(object.id) is no \(Element.Object.entity.name).")
                }
                return Element(object)
            })
    }

    /// The parts of literal values that are neighbours under the same identifier.
    func sections(of values: [Element]) -> [(id: SectionIdentifier, range: Range<Int>)] {
        let identify: (Element) -> SectionIdentifier
        switch naming {
        case .byName(let named): return [(named(""), 0..<values.count)]
        case .byElement(let found): identify = found
        }
        var sections: [(id: SectionIdentifier, range: Range<Int>)] = []
        for (index, value) in values.enumerated() {
            let id = identify(value)
            if let last = sections.last, last.id == id {
                sections[sections.count - 1].range = last.range.lowerBound..<(index + 1)
            } else {
                sections.append((id, index..<(index + 1)))
            }
        }
        return sections
    }
}

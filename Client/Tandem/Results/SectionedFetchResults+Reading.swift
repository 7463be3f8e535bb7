import TandemResults

extension SectionedFetchResults {
    /// The list that is read; nil for literal values.
    var list: SectionedList? { held ?? controller?.visible }

    func access() { registrar.access(self, keyPath: \.revision) }

    /// An element of what is, or was, shown.
    func element(
        at offset: Int, of content: ResultsContent<SectionIdentifier, Element>,
        _ list: SectionedList?
    ) -> Element {
        switch (content, list) {
        case (.values(let values, _), _): return values[offset]
        case (.store(let controller), let list?):
            let object = controller.object(at: list.path(atOffset: offset), of: list)
            reads += 1
            defer { reads -= 1 }
            return definition.make(object)
        default: preconditionFailure("The list is empty.")
        }
    }

    /// The sections in order: one without a section key path, no empty ones with it.
    ///
    /// Cost: a few words each; an identifier that is taken from elements loads the section's first when it is read, so reading all of them
    /// may ask the daemon. Sections are cut by the name of their key path's value all the same: nil and `""` are one.
    public var sections: [ResultsSectionView<SectionIdentifier, Element>] {
        access()
        let shown = ShownResults(content: content, list: list)
        func view(_ range: Range<Int>, _ known: SectionIdentifier?) -> ResultsSectionView<
            SectionIdentifier, Element
        > {
            ResultsSectionView(results: self, shown: shown, range: range, known: known)
        }
        switch content {
        case .empty: return []
        case .values(_, let sections): return sections.map { view($0.range, $0.id) }
        case .store:
            guard let list = shown.list else { return [] }
            return list.sections.compactMap { section in
                guard case .byName(let named) = definition.naming else {
                    // A section without an element has nobody to say what it is called.
                    return section.count == 0 ? nil : view(section.range, nil)
                }
                return view(section.range, named(section.name))
            }
        }
    }

    /// What a section without a name of its own is called.
    func identifier(
        of range: Range<Int>, _ shown: ShownResults<SectionIdentifier, Element>
    ) -> SectionIdentifier {
        switch definition.naming {
        case .byName(let named): named("")
        case .byElement(let identify):
            identify(element(at: range.lowerBound, of: shown.content, shown.list))
        }
    }
}

/// What a list shows at one time, for those who read it part by part.
final class ShownResults<SectionIdentifier: Hashable, Element> {
    let content: ResultsContent<SectionIdentifier, Element>
    let list: SectionedList?

    init(content: ResultsContent<SectionIdentifier, Element>, list: SectionedList?) {
        self.content = content
        self.list = list
    }
}

extension SectionedFetchResults: RandomAccessCollection {
    /// 0.
    public var startIndex: Int { 0 }

    /// The number of elements of all sections.
    public var endIndex: Int {
        access()
        switch content {
        case .empty: return 0
        case .values(let values, _): return values.count
        case .store: return list?.count ?? 0
        }
    }

    /// The element at a place of the whole list; a place outside it traps.
    public subscript(position: Int) -> Element {
        access()
        return element(at: position, of: content, list)
    }

    /// Goes through the list as it is now, also when it changes meanwhile.
    public func makeIterator() -> AnyIterator<Element> {
        let (content, list, end) = (content, list, endIndex)
        var offset = 0
        return AnyIterator {
            guard offset < end else { return nil }
            defer { offset += 1 }
            return self.element(at: offset, of: content, list)
        }
    }
}

import TandemResults

extension SectionedFetchResults {
    /// The list that is read; nil for literal values.
    var list: SectionedList? { held ?? controller?.visible }

    func access() { registrar.access(self, keyPath: \.revision) }

    func element(at offset: Int) -> Element {
        switch content {
        case .values(let values, _): return values[offset]
        case .empty: preconditionFailure("The list is empty.")
        case .store(let controller):
            let shown = held ?? controller.visible
            let object = controller.object(at: shown.path(atOffset: offset), of: shown)
            reads += 1
            defer { reads -= 1 }
            return definition.make(object)
        }
    }

    /// The sections in order: one without a section key path, no empty ones with it.
    ///
    /// Cost: a word each; an identifier that is taken from elements loads the section's first when it is read.
    public var sections: [ResultsSectionView<SectionIdentifier, Element>] {
        access()
        switch content {
        case .empty: return []
        case .values(_, let sections):
            return sections.map { ResultsSectionView(results: self, range: $0.range, known: $0.id) }
        case .store:
            guard let list else { return [] }
            return list.sections.compactMap { section in
                guard case .byName(let named) = definition.naming else {
                    // A section without an element has nobody to say what it is called.
                    if section.count == 0 { return nil }
                    return ResultsSectionView(results: self, range: section.range, known: nil)
                }
                return ResultsSectionView(
                    results: self, range: section.range, known: named(section.name))
            }
        }
    }

    /// What a section without a name of its own is called.
    func identifier(of range: Range<Int>) -> SectionIdentifier {
        switch definition.naming {
        case .byName(let named): named("")
        case .byElement(let identify): identify(self[range.lowerBound])
        }
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
        return element(at: position)
    }

    /// Goes through the list as it is now, also when it changes meanwhile.
    public func makeIterator() -> AnyIterator<Element> {
        access()
        guard case .store(let controller) = content, let list else {
            var index = 0
            return AnyIterator {
                guard index < self.count else { return nil }
                defer { index += 1 }
                return self.element(at: index)
            }
        }
        var offset = 0
        return AnyIterator {
            guard offset < list.count else { return nil }
            defer { offset += 1 }
            self.reads += 1
            defer { self.reads -= 1 }
            return self.definition.make(
                controller.object(at: list.path(atOffset: offset), of: list))
        }
    }
}

import TandemResults

extension SectionedFetchResults {
    /// Returns an element of the list's current or earlier content.
    func element(
        at offset: Int, of content: ResultsContent<SectionIdentifier, Element>,
        _ list: SectionedList?
    ) -> Element {
        switch (content, list) {
        case (.values(let values, _), _): return values[offset]
        case (.store(let controller), let list?):
            let object = controller.object(at: list.path(atOffset: offset), of: list)
            return reading { definition.makeElement(object) }
        default: fatalError("The list is empty.")
        }
    }

    /// The sections in order: one section without a section key path; otherwise no section is
    /// empty.
    ///
    /// Cost: a few words for each section. If identifiers are computed from elements, the first
    /// element of each section is loaded, or every element if there is no section key path.
    /// Adjacent elements with the same identifier form one section, as they do for literal values.
    public var sections: [ResultsSectionView<SectionIdentifier, Element>] {
        access()
        let shown = ResultsViewState(content: content, list: list)
        return sections(of: shown).map { section in
            ResultsSectionView(results: self, shown: shown, range: section.range, id: section.id)
        }
    }

    private func sections(
        of shown: ResultsViewState<SectionIdentifier, Element>
    ) -> [(id: SectionIdentifier, range: Range<Int>)] {
        switch (shown.content, definition.naming) {
        case (.empty, _): return []
        case (.values(_, let sections), _): return sections
        case (.store, .byName(let named)):
            return shown.list?.sections.map { (named($0.name), $0.range) } ?? []
        case (.store(let controller), .byElement(let identify)):
            guard let list = shown.list else { return [] }
            let ranges =
                controller.follower.plan?.sectionKeyPath == nil
                ? (0..<list.count).map { $0..<($0 + 1) } : list.sections.map(\.range)
            return reading {
                load(ranges.lazy.filter { !$0.isEmpty }.map(\.lowerBound), of: list, controller)
                return definition.joined(ranges) {
                    identify(element(at: $0, of: shown.content, list))
                }
            }
        }
    }

    /// Loads elements in batches, so that they are not requested one by one when they are read.
    private func load(
        _ offsets: some Sequence<Int>, of list: SectionedList,
        _ controller: FetchedResultsController<ManagedObject>
    ) {
        let context = controller.context
        var faults = offsets.flatMap { list.references(in: $0..<($0 + 1)) }
            .filter { context.graph[$0.number]?.isFault ?? true }[...]
        while !faults.isEmpty {
            let batch = faults.prefix(Swift.max(1, context.core.limits.faultBatch))
            faults = faults.dropFirst(batch.count)
            context.loader.fire { try await $0.loader.load(Array(batch), $1) }
        }
    }
}

/// A snapshot of a list's content, for readers that read it in several steps.
final class ResultsViewState<SectionIdentifier: Hashable, Element> {
    let content: ResultsContent<SectionIdentifier, Element>
    let list: SectionedList?

    init(content: ResultsContent<SectionIdentifier, Element>, list: SectionedList?) {
        self.content = content
        self.list = list
    }
}

extension SectionedFetchResults: RandomAccessCollection {
    /// The index of the first element, always 0.
    public var startIndex: Int { 0 }

    /// The number of elements in all sections.
    public var endIndex: Int {
        access()
        switch content {
        case .empty: return 0
        case .values(let values, _): return values.count
        case .store: return list?.count ?? 0
        }
    }

    /// Returns the element at an index of the whole list; traps if the index is out of range.
    public subscript(position: Int) -> Element {
        access()
        return element(at: position, of: content, list)
    }

    /// Returns an iterator over the list as it is now; later changes do not affect it.
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

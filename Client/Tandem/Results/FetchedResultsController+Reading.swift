public import TandemModel
public import TandemResults

/// A section of a controller's list, by its name; it shows the list as it is when asked.
public struct FetchedResultsSection {
    let controller: FetchedResultsController?
    /// The section's name: the value of the section key path as text, `""` for nil.
    public let name: String

    /// The title for an index at the side: the first letter of the name, in upper case.
    public var indexTitle: String? { name.first.map { String($0).uppercased() } }

    /// How many objects the section has; 0 when it is gone.
    public var numberOfObjects: Int { range.count }

    /// The ids of its objects, in order.
    public var objectIDs: [ObjectID] { controller?.objectIDs(in: range) ?? [] }

    /// Its objects, in order, as faults where they aren't held.
    public var objects: [ManagedObject] { controller?.objects(in: range) ?? [] }

    private var range: Range<Int> {
        guard let controller, let index = controller.visible.sectionIndex(named: name) else {
            return 0..<0
        }
        return controller.visible.sections[index].range
    }
}

extension FetchedResultsController {
    /// Whether a fetch succeeded, so that the list follows its context.
    public var isFetched: Bool { plan != nil }

    /// How many objects the list has.
    public var count: Int { visible.count }

    /// The sections, in order: always one named `""` without section key path, none empty with one.
    public var sections: [FetchedResultsSection] {
        visible.sections.map { FetchedResultsSection(controller: self, name: $0.name) }
    }

    /// The flat form: for every section its name, offset and count, over one sequence of objects.
    public var sectionRanges: ResultsSections { visible.sections }

    /// All objects, in order; nil before the first fetch. Cost O(n).
    public var fetchedObjects: [ManagedObject]? { isFetched ? objects(in: 0..<count) : nil }

    /// The ids of all objects, in order; cost O(n).
    public var objectIDs: [ObjectID] { objectIDs(in: 0..<count) }

    /// The sections as names and numbers, with nothing marked as reloaded; cost O(n).
    public var snapshot: ResultsSnapshot { visible.snapshot() }

    /// The object at a path, which must exist; a fault if it isn't held.
    public func object(at indexPath: ResultsIndexPath) -> ManagedObject {
        let identity = visible.identity(at: indexPath)
        return context.object(ObjectReference(tag: identity.tag, number: identity.number))
    }

    /// Where an object stands; nil if it isn't listed.
    public func indexPath(for object: ManagedObject) -> ResultsIndexPath? {
        object.managedObjectContext === context ? indexPath(for: object.id) : nil
    }

    /// Where the object of an id stands; nil if it isn't listed.
    public func indexPath(for id: ObjectID) -> ResultsIndexPath? {
        visible.indexPath(of: id.number)
    }

    /// The objects at some places counted over all sections, as for a visible window; cut to what there is.
    ///
    /// To load those that aren't held with one request, pass them to the context's `load(_:)`.
    public func objects(in range: Range<Int>) -> [ManagedObject] {
        references(in: range).map { context.object($0) }
    }

    /// The ids of the objects at some places counted over all sections; cut to what there is.
    public func objectIDs(in range: Range<Int>) -> [ObjectID] {
        guard let model = context.session?.model else { return [] }
        return references(in: range).map { model.id(of: $0) }
    }

    private func references(in range: Range<Int>) -> [ObjectReference] {
        let list = visible
        return list.numbers(in: range).compactMap { number in
            list.entityTag(of: number).map { ObjectReference(tag: $0, number: number) }
        }
    }

    // MARK: Index titles

    /// The index titles of all sections; two may be the same.
    public var sectionIndexTitles: [String] { sections.map { $0.indexTitle ?? "" } }

    /// The index of the section that an index title at a place stands for; nil if there is none.
    public func section(forSectionIndexTitle title: String, at index: Int) -> Int? {
        let sections = visible.sections
        return sections.indices.contains(index) ? index : nil
    }
}

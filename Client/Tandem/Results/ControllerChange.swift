public import TandemModel
public import TandemResults

/// What one merge did to the list of a results controller.
///
/// A value: send it elsewhere, keep it, apply it, merge it with the next one.
///
///     shown = try change.apply(to: shown)                        // [FetchedResultsSection]
///     let both = try first.merging(second, from: shown)
public struct ControllerChange: Sendable {
    /// The position that the list stands at now.
    public let position: Position
    /// Sections and objects, in one fixed order.
    public let change: ResultsChange

    /// Whether it leads from nothing to the first list, which a view need not animate; such a change may be empty.
    public let isFirstLoad: Bool
    /// Why the list can't be shown as it is now; nil while all is well.
    ///
    /// Such a change is empty, for the last good list stays. The next one without it, which may be empty as well, says that the list
    /// has recovered, and leads on from that list.
    public let error: TandemError?

    private let isRecovery: Bool
    private let isSectioned: Bool
    private let causes: ChangeCauses
    private let model: CompiledModel

    init(
        position: Position, change: ResultsChange = .none, isFirstLoad: Bool = false,
        isRecovery: Bool = false, isSectioned: Bool, error: TandemError? = nil,
        causes: ChangeCauses = ChangeCauses(), model: CompiledModel
    ) {
        self.position = position
        self.change = change
        self.isFirstLoad = isFirstLoad
        self.isRecovery = isRecovery
        self.isSectioned = isSectioned
        self.error = error
        self.causes = causes
        self.model = model
    }

    /// The same place with a change that has the effect of an earlier one, too.
    func replacing(change: ResultsChange, since earlier: ControllerChange) -> ControllerChange {
        var causes = earlier.causes
        causes.formUnion(self.causes)
        return ControllerChange(
            position: position, change: change, isFirstLoad: earlier.isFirstLoad,
            isRecovery: isRecovery || earlier.isRecovery, isSectioned: isSectioned, error: error,
            causes: causes, model: model)
    }

    /// Whether it says anything.
    var isNews: Bool { !change.isEmpty || isFirstLoad || isRecovery || error != nil }

    /// Why an object is part of the change: which of its own properties differ, and on which key paths of the list others' values do.
    ///
    /// After a fetch of the whole list nobody knows; it is empty then.
    public func cause(of object: ResultsChange.ObjectChange) -> ChangeCause {
        causes.cause(of: object, change.reasons[object.number] ?? [], model)
    }

    /// The id of the object that a part of the change is about.
    public func id(of object: ResultsChange.ObjectChange) -> ObjectID {
        model.id(of: ObjectReference(tag: object.tag, number: object.number))
    }

    // MARK: Applying

    /// The sections that the change makes of those before it, by the rules of a table's batch update; O(n).
    ///
    /// Throws `ReplayError` if it is no change of these.
    public func apply(
        to old: [FetchedResultsSection]
    ) throws(ReplayError) -> [FetchedResultsSection] {
        var ids: [ObjectNumber: ObjectID] = [:]
        for id in old.lazy.flatMap(\.objectIDs) { ids[id.number] = id }
        for object in change.objects { ids[object.number] = id(of: object) }
        return try change.apply(to: old.map(\.numbers)).map { section in
            FetchedResultsSection(
                name: section.name, objectIDs: section.numbers.compactMap { ids[$0] })
        }
    }

    /// This change and the one that follows it as one, with the net effect: position and error of the later one, the causes of both.
    ///
    /// `old` are the sections before this one; O(n). Throws `ReplayError` when the changes don't fit them or each other.
    public func merging(
        _ next: ControllerChange, from old: [FetchedResultsSection]
    ) throws(ReplayError) -> ControllerChange {
        let merged = try change.merging(next.change, from: old.map(\.numbers))
        return next.replacing(change: merged ?? .none, since: self)
    }

    // MARK: Shapes

    /// The objects that were there before and changed, moved ones included: what a diffable view reloads.
    public var reloadedIDs: [ObjectID] {
        change.objects.filter { $0.from != nil && $0.to != nil }.map(id(of:))
    }

    /// The objects that changed and stayed where they were.
    public var updatedIDs: [ObjectID] {
        change.objects.filter { if case .update = $0 { true } else { false } }.map(id(of:))
    }

    /// The change of a list without sections as the standard library's difference of its ids; nil for any other list.
    ///
    /// A move is a removal and an insertion that name each other. Updates have no place in it: ``reloadedIDs`` holds them.
    public var collectionDifference: CollectionDifference<ObjectID>? {
        guard !isSectioned, let numbers = change.collectionDifference else { return nil }
        var ids: [ObjectNumber: ObjectID] = [:]
        for object in change.objects { ids[object.number] = id(of: object) }
        return CollectionDifference(
            numbers.compactMap { part -> CollectionDifference<ObjectID>.Change? in
                switch part {
                case .insert(let offset, let number, let associated):
                    ids[number].map {
                        .insert(offset: offset, element: $0, associatedWith: associated)
                    }
                case .remove(let offset, let number, let associated):
                    ids[number].map {
                        .remove(offset: offset, element: $0, associatedWith: associated)
                    }
                }
            })
    }
}

extension ResultsChange {
    /// Nothing.
    static let none = ResultsChange(sections: [], objects: [])
}

extension FetchedResultsSection {
    fileprivate var numbers: SectionIDs {
        SectionIDs(name: name, numbers: objectIDs.map(\.number))
    }
}

public import TandemModel
public import TandemResults

/// What one merge did to the list of a results controller.
///
/// A value: send it elsewhere, keep it, apply it (``TandemResults/ResultsChange/apply(to:)``).
public struct ControllerChange: Sendable {
    /// The position that the list stands at now.
    public let position: Position
    /// Sections and objects, in one fixed order.
    public let change: ResultsChange

    /// Whether it leads from nothing to the first list, which a view need not animate.
    public let isFirstLoad: Bool

    private let causes: ChangeCauses
    private let model: CompiledModel

    init(
        position: Position, change: ResultsChange, isFirstLoad: Bool = false,
        causes: ChangeCauses = ChangeCauses(), model: CompiledModel
    ) {
        self.position = position
        self.change = change
        self.isFirstLoad = isFirstLoad
        self.causes = causes
        self.model = model
    }

    /// The same place with a change that has the effect of an earlier one, too.
    func replacing(change: ResultsChange, since earlier: ControllerChange) -> ControllerChange {
        var causes = earlier.causes
        causes.formUnion(self.causes)
        return ControllerChange(
            position: position, change: change, isFirstLoad: earlier.isFirstLoad, causes: causes,
            model: model)
    }

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
        guard let numbers = change.collectionDifference else { return nil }
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

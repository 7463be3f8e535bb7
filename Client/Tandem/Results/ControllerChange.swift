public import TandemModel
public import TandemResults

/// The effect of one merge on the list of a results controller.
///
/// A change is a value that can be sent to other actors, stored, applied, and merged with the next
/// change.
///
///     shown = try change.apply(to: shown)                        // [FetchedResultsSection]
///     let both = try first.merging(second, from: shown)
public struct ControllerChange: Sendable {
    /// The position of the list after the change.
    public let position: Position
    /// The section and object changes, in a fixed order.
    public let change: ResultsChange

    /// Whether the change delivers the first list, which a view need not animate; such a change may
    /// be empty.
    public let isFirstLoad: Bool
    /// The error that prevents the current list from being shown, or nil.
    ///
    /// A change with an error is empty, because the last list that was in order stays visible. The
    /// next change without an error, which may be empty as well, reports the recovery, and is
    /// relative to the list that stayed visible.
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

    /// Returns this change with `change` as its content, and with the causes and flags of an
    /// earlier change added.
    func replacing(change: ResultsChange, since earlier: ControllerChange) -> ControllerChange {
        var causes = earlier.causes
        causes.formUnion(self.causes)
        return ControllerChange(
            position: position, change: change, isFirstLoad: earlier.isFirstLoad,
            isRecovery: isRecovery || earlier.isRecovery, isSectioned: isSectioned, error: error,
            causes: causes, model: model)
    }

    /// Whether there is anything to report.
    var isReportable: Bool { !change.isEmpty || isFirstLoad || isRecovery || error != nil }

    /// Returns why an object is part of the change: its own properties that changed, and the key
    /// paths of the list at which values of other objects changed.
    ///
    /// The cause is empty after a fetch of the whole list, because what changed is then unknown.
    public func cause(of object: ResultsChange.ObjectChange) -> ChangeCause {
        causes.cause(of: object, change.reasons[object.number] ?? [], model)
    }

    /// Returns the id of the object of an object change.
    public func id(of object: ResultsChange.ObjectChange) -> ObjectID {
        model.id(of: ObjectReference(tag: object.tag, number: object.number))
    }

    // MARK: Applying

    /// Returns the sections after the change, given the sections before it, according to the rules
    /// of a table's batch update; O(n).
    ///
    /// Throws `ReplayError` if the change does not fit these sections.
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

    /// Returns the net effect of this change and the change that follows it.
    ///
    /// The result has the position and the error of the later change, and the causes of both. `old`
    /// contains the sections before this change. O(n). Throws `ReplayError` if the changes do not
    /// fit `old` or each other.
    public func merging(
        _ next: ControllerChange, from old: [FetchedResultsSection]
    ) throws(ReplayError) -> ControllerChange {
        let merged = try change.merging(next.change, from: old.map(\.numbers))
        return next.replacing(change: merged ?? .none, since: self)
    }

    // MARK: Shapes

    /// The objects that were already in the list and have changed, including moved objects; a
    /// diffable view reloads them.
    public var reloadedIDs: [ObjectID] {
        change.objects.filter { $0.from != nil && $0.to != nil }.map(id(of:))
    }

    /// The listed objects that have changed but not moved.
    public var updatedIDs: [ObjectID] {
        change.objects.filter { if case .update = $0 { true } else { false } }.map(id(of:))
    }

    /// The change to a list without sections, as the standard library's difference between ids; nil
    /// for a list with sections.
    ///
    /// A move is a removal and an insertion that are associated with each other. A difference can't
    /// express updates; see ``reloadedIDs``.
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

extension ControllerChange: CustomStringConvertible {
    /// A summary, such as `position 12: + Team/3 at (0, 1); Team/4 (0, 2) to (1, 0)`.
    public var description: String {
        let sections = change.sections.map { section in
            switch section {
            case .delete(let index, let name): "section - \(name) at \(index)"
            case .insert(let index, let name): "section + \(name) at \(index)"
            }
        }
        let objects = change.objects.map { object in
            switch object {
            case .delete(_, _, let from): "- \(id(of: object)) at \(from)"
            case .insert(_, _, let to): "+ \(id(of: object)) at \(to)"
            case .move(_, _, let from, let to): "\(id(of: object)) \(from) to \(to)"
            case .update(_, _, _, let to): "\(id(of: object)) changed at \(to)"
            }
        }
        var parts = sections + objects
        if isFirstLoad { parts.insert("first load", at: 0) }
        if let error { parts.append("\(error)") }
        let text = parts.isEmpty ? "no changes" : parts.joined(separator: "; ")
        return "position \(position.number): \(text)"
    }
}

extension ResultsChange {
    /// A change without effect.
    static let none = ResultsChange(sections: [], objects: [])
}

extension FetchedResultsSection {
    fileprivate var numbers: SectionIDs {
        SectionIDs(name: name, numbers: objectIDs.map(\.number))
    }
}

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

    private let model: CompiledModel

    init(position: Position, change: ResultsChange, model: CompiledModel) {
        self.position = position
        self.change = change
        self.model = model
    }

    /// The same place with another change.
    func replacing(change: ResultsChange) -> ControllerChange {
        ControllerChange(position: position, change: change, model: model)
    }

    /// The id of the object that a part of the change is about.
    public func id(of object: ResultsChange.ObjectChange) -> ObjectID {
        model.id(of: ObjectReference(tag: object.tag, number: object.number))
    }
}

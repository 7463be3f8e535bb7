import TandemModel

/// A reader's copy of the model; bound to its thread.
///
/// Evaluating a row retains and releases parts of the model. If all readers did that with the same model, they would spend half of
/// their time with the cache lines of its reference counts (``CompiledModel/copy()``).
final class ModelCopy {
    private var original: CompiledModel?
    private var copy: CompiledModel?

    /// The copy of a model, made when the model is another one than before.
    func of(_ model: CompiledModel) -> CompiledModel {
        if let copy, original === model { return copy }
        let copy = model.copy()
        (original, self.copy) = (model, copy)
        return copy
    }
}

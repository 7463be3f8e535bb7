import TandemModel

/// A reader's copy of the model; bound to its thread.
///
/// Evaluating a row retains and releases parts of the model. If all readers shared one model, they
/// would spend half of their time on the cache lines of its reference counts
/// (``CompiledModel/copy()``).
final class ModelCopy {
    private var original: CompiledModel?
    private var copy: CompiledModel?

    /// Returns a copy of a model; the copy is reused while the model is the same.
    func of(_ model: CompiledModel) -> CompiledModel {
        if let copy, original === model { return copy }
        let copy = model.copy()
        (original, self.copy) = (model, copy)
        return copy
    }
}

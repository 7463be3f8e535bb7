import Tandem

/// A transaction that installed a model, and the model.
struct Installation {
    let transaction: Transaction
    let model: CompiledModel

    var position: UInt64 { transaction.position }
}

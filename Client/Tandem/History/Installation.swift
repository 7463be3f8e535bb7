package import TandemModel

/// A model and the transaction that installed it.
package struct Installation: Sendable {
    /// The transaction.
    package let transaction: Transaction
    /// The installed model.
    package let model: CompiledModel

    /// The number of the transaction.
    package var position: UInt64 { transaction.position }
}

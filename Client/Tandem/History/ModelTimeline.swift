package import TandemModel

/// The models installed in a journal; each decodes the transactions that were saved under it.
///
/// A model change can move slots, so a row can't be read with a different model.
package struct ModelTimeline: Sendable {
    /// The recorded installations, oldest first.
    package private(set) var installed: [Installation] = []
    /// The current model of the store.
    private let latest: CompiledModel?
    /// Whether ``installed`` contains every model of the journal.
    package private(set) var isComplete = false

    /// Creates a timeline with the store's model, if the model is known.
    package init(latest: CompiledModel? = nil) { self.latest = latest }

    /// Records the model that a transaction installs; ignores other transactions.
    ///
    /// Throws ``CodingError`` if the model can't be read.
    package mutating func record(_ transaction: Transaction) throws(CodingError) {
        guard case .model(let bytes) = transaction.content,
            !installed.contains(where: { $0.position == transaction.position })
        else { return }
        var reader = ByteReader(bytes)
        let model = try CompiledModel(from: &reader)
        installed.append(Installation(transaction: transaction, model: model))
        installed.sort { $0.position < $1.position }
    }

    /// Marks every model of the journal as recorded.
    package mutating func complete() { isComplete = true }

    /// Returns whether the model of a transaction is not known yet.
    package func lacks(_ transaction: Transaction) -> Bool {
        if case .model = transaction.content { return false }
        return !isComplete && !isLatest(transaction)
    }

    /// All known models.
    package var models: [CompiledModel] { installed.map(\.model) + (latest.map { [$0] } ?? []) }

    /// The newest known model.
    package var newest: CompiledModel? {
        guard let last = installed.last?.model else { return latest }
        return latest.map { $0.version > last.version ? $0 : last } ?? last
    }

    /// Returns the models that are newer than `model`, oldest first.
    ///
    /// The list is complete if `model` was returned by ``model(for:)``.
    package func models(after model: CompiledModel) -> [CompiledModel] {
        let versions = Dictionary(models.map { ($0.version, $0) }, uniquingKeysWith: { $1 })
        return versions.values.filter { $0.version > model.version }
            .sorted { $0.version < $1.version }
    }

    /// Returns the model of a transaction, or nil if the model is no longer in the journal.
    package func model(for transaction: Transaction) -> CompiledModel? {
        if isLatest(transaction) { return latest }
        return installed.last { $0.position <= transaction.position }?.model
    }

    /// Returns whether a transaction is known to have been saved under the store's current model.
    private func isLatest(_ transaction: Transaction) -> Bool {
        guard let latest, case .objects(let changes) = transaction.content else { return false }
        var hasRows = false
        for change in changes {
            guard let row = change.row ?? change.deleted, let version = Self.version(row) else {
                continue
            }
            guard version == latest.version else { return false }
            hasRows = true
        }
        // Links have no model version. If the store's model has version 1, every transaction was
        // saved under it, unless a newer model was installed.
        return hasRows || (latest.version == 1 && !isReplaced(transaction.position))
    }

    /// Returns whether a model newer than the store's was installed at or before a position.
    private func isReplaced(_ position: UInt64) -> Bool {
        installed.contains { $0.position <= position && $0.model.version > (latest?.version ?? 0) }
    }

    /// Returns the model version of a row, or nil if the row is damaged.
    private static func version(_ row: Row) -> UInt16? {
        row.bytes.count >= 2 ? row.modelVersion : nil
    }
}

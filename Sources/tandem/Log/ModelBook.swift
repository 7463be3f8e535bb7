import Tandem

/// The models that a journal installed, so that each transaction is read with the model of its time.
///
/// Slots move when a model changes: a row that is read with another model is nonsense.
struct ModelBook {
    /// Those that were noted, oldest first.
    private(set) var installed: [Installation] = []
    /// The store's model now, and whether ``installed`` holds every model there was.
    private let latest: CompiledModel?
    private(set) var isComplete = false

    /// A book that starts with the store's model, if that is known.
    init(latest: CompiledModel? = nil) { self.latest = latest }

    /// Takes note of a transaction that installs a model; others are left alone.
    ///
    /// Throws ``CodingError`` when the model can't be read.
    mutating func note(_ transaction: Transaction) throws {
        guard case .model(let bytes) = transaction.content,
            !installed.contains(where: { $0.position == transaction.position })
        else { return }
        var reader = ByteReader(bytes)
        let model = try CompiledModel(from: &reader)
        installed.append(Installation(transaction: transaction, model: model))
        installed.sort { $0.position < $1.position }
    }

    /// Says that every model of the journal was noted.
    mutating func complete() { isComplete = true }

    /// Whether the models so far can't tell how a transaction is to be read.
    func lacks(_ transaction: Transaction) -> Bool {
        if case .model = transaction.content { return false }
        return !isComplete && !isLatest(transaction)
    }

    /// All models that are known.
    var models: [CompiledModel] { installed.map(\.model) + (latest.map { [$0] } ?? []) }

    /// The last model there is.
    var newest: CompiledModel? {
        guard let last = installed.last?.model else { return latest }
        return latest.map { $0.version > last.version ? $0 : last } ?? last
    }

    /// The models after another, oldest first; those in between are known once that one came out of ``model(for:)``.
    func models(after model: CompiledModel) -> [CompiledModel] {
        let all = installed.map(\.model) + (latest.map { [$0] } ?? [])
        let versions = Dictionary(all.map { ($0.version, $0) }, uniquingKeysWith: { $1 })
        return versions.values.filter { $0.version > model.version }
            .sorted { $0.version < $1.version }
    }

    /// The model of a transaction; nil when it is no longer in the journal.
    func model(for transaction: Transaction) -> CompiledModel? {
        if isLatest(transaction) { return latest }
        return installed.last { $0.position <= transaction.position }?.model
    }

    /// Whether a transaction was surely written under the store's model of now.
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
        // Links alone carry no version; there was only one model if that is the first, and no later one was installed.
        return hasRows || (latest.version == 1 && !isReplaced(transaction.position))
    }

    /// Whether a model later than the store's was installed at a position or before it.
    private func isReplaced(_ position: UInt64) -> Bool {
        installed.contains { $0.position <= position && $0.model.version > (latest?.version ?? 0) }
    }

    /// The model version of a row, which may be damaged.
    private static func version(_ row: Row) -> UInt16? {
        row.bytes.count >= 2 ? row.modelVersion : nil
    }
}

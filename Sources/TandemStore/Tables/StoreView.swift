package import TandemModel

/// The readable graph of a store at one position.
///
/// A ``Store`` shows the state of its open write transaction, a ``StoreSnapshot`` the state at a
/// checkpoint. Bound to one thread at a time.
package class StoreView {
    /// The directory of the store.
    package let path: String
    /// The position of the last transaction that the view shows.
    package private(set) var appliedPosition: UInt64 = 0
    /// The model; nil in a store without one.
    package private(set) var model: CompiledModel?
    /// The position at which the model was installed; rows of older transactions have a different
    /// layout.
    package private(set) var modelPosition: UInt64 = 0

    let tables: StoreTables
    let options: StoreOptions
    let decoder: EntryDecoder
    private var transaction: LMDBTransaction?

    init(_ path: String, _ tables: StoreTables, _ options: StoreOptions) {
        self.path = path
        self.tables = tables
        self.options = options
        decoder = EntryDecoder(path: path)
    }

    /// Moves the view to a position.
    final func show(_ position: UInt64) { appliedPosition = position }

    /// Sets the model with which rows are decoded, and the position at which it was installed.
    final func use(_ model: CompiledModel?, installedAt position: UInt64) {
        (self.model, modelPosition) = (model, position)
    }

    /// The transaction for reads, which is begun on first access.
    var current: LMDBTransaction {
        get throws(StoreError) {
            if let transaction { return transaction }
            let begun = try begin()
            transaction = begun
            return begun
        }
    }

    /// The transaction for reads; nil if none is open.
    var openTransaction: LMDBTransaction? { transaction }

    /// Begins the transaction for reads.
    func begin() throws(StoreError) -> LMDBTransaction {
        preconditionFailure("A subclass begins its transaction.")
    }

    /// Removes the transaction for reads from the view, and returns it without ending it.
    func detachTransaction() -> LMDBTransaction? {
        defer { transaction = nil }
        return transaction
    }

    /// Returns the row of an object, or nil if it isn't cached.
    func cachedRow(of object: ObjectReference) -> Stored? { nil }

    /// Returns a budget for one request, with the limits of this store.
    package func readBudget(
        ofRequest: Int? = nil, work: Int = .max, weight: Int = 1, mostBytes: Int = .max,
        check: ReadBudget.Check? = nil
    ) -> ReadBudget {
        ReadBudget(
            options, ofRequest: ofRequest, work: work, weight: weight, mostBytes: mostBytes,
            check: check)
    }
}

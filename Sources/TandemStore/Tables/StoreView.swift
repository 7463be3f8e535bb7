public import TandemModel

/// The graph of a store at one position, as it can be read.
///
/// ``Store`` shows what its open write transaction holds, ``StoreSnapshot`` what was there at a checkpoint. Bound to one
/// thread at a time.
public class StoreView {
    /// The directory of the store.
    public let path: String
    /// The last transaction that it shows.
    public internal(set) var appliedPosition: UInt64 = 0
    /// The model, or nil in a store without one.
    public internal(set) var model: CompiledModel?
    /// The position at which the model was installed; rows of older transactions have another layout.
    public internal(set) var modelPosition: UInt64 = 0

    let tables: StoreTables
    let options: StoreOptions
    private var transaction: LMDBTransaction?

    init(_ path: String, _ tables: StoreTables, _ options: StoreOptions) {
        self.path = path
        self.tables = tables
        self.options = options
    }

    /// The transaction that is read; one is begun if there is none.
    var current: LMDBTransaction {
        get throws(StoreError) {
            if let transaction { return transaction }
            let begun = try begin()
            transaction = begun
            return begun
        }
    }

    /// The transaction that is read; nil while there is none.
    var openTransaction: LMDBTransaction? { transaction }

    /// Begins the transaction that is read.
    func begin() throws(StoreError) -> LMDBTransaction {
        preconditionFailure("A view of a store reads in a transaction.")
    }

    /// Lets go of the transaction without ending it, and returns it.
    func takeTransaction() -> LMDBTransaction? {
        defer { transaction = nil }
        return transaction
    }

    /// The row of an object, if it is in a cache.
    func cachedRow(of object: ObjectReference) -> Stored? { nil }
}

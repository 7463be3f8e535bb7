import TandemModel

/// A stamp in the meta table: the version of the Unicode tables with which stored text was
/// processed.
struct StoreStamp {
    private let table: LMDBTable
    private let key: MetaKey
    private let text: [UInt8]

    /// Creates a stamp under a key; `text` is the stamp of this program.
    init(_ key: MetaKey, _ text: String, in meta: LMDBTable) {
        assert(key == .collation || key == .folding, "Only these two keys are stamps.")
        table = meta
        self.key = key
        self.text = Array(text.utf8)
    }

    /// Returns whether the store has this program's stamp.
    func isPresent(_ open: LMDBTransaction) throws(StoreError) -> Bool {
        try open.get(table, key.key).map { Array($0) } == text
    }

    /// Stamps the store.
    func write(_ open: LMDBTransaction) throws(StoreError) { try open.put(table, key.key, text) }

    /// Removes the stamp, so that the version counts as unknown.
    func remove(_ open: LMDBTransaction) throws(StoreError) { try open.delete(table, key.key) }
}

/// Rebuilds all index entries of a store whose keys were made with different Unicode tables.
///
/// The Unicode tables are part of the program. A new store is stamped with the collation of the
/// program that creates it. A program with a different stamp rebuilds all index entries when it
/// opens the store, before the first read. Keys are currently ordered by code point, which doesn't
/// depend on the tables; the stamp allows for other orders.
struct IndexRenewal {
    private let view: StoreView
    private let indexes: IndexWriter

    init(_ view: StoreView, _ indexes: IndexWriter) {
        self.view = view
        self.indexes = indexes
    }

    /// Rewrites the entries in the open transaction.
    ///
    /// Throws ``StoreError``, for example `overQuota` if the map is too small. Cost: all rows are
    /// read and all entries written.
    func run(_ open: LMDBTransaction) throws(StoreError) {
        try indexes.clearIndexes(open)
        for entity in view.model?.entities ?? [] where !entity.indexes.isEmpty {
            try view.rows(of: entity.tag) { (stored) throws(StoreError) in
                for index in entity.indexes {
                    try indexes.add(stored.row, stored.object, to: index, entity, open)
                }
            }
        }
    }
}

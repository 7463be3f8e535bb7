import TandemModel
import TandemQuery

/// The collation stamp, which identifies the key format and Unicode tables of the index entries.
///
/// The Unicode tables are part of the program. A new store is stamped with the collation of the
/// program that creates it. A program with another stamp rebuilds all index entries when it opens
/// the store, before the first read. The present keys are ordered by code point and don't depend on
/// the tables. The stamp ensures that the order of a store's keys is always known.
extension Store {
    /// Rebuilds all index entries if their stamp differs; durable on return.
    ///
    /// A store with unreadable rows keeps its entries and its stamp until it is repaired. Throws
    /// ``StoreError``, for example `overQuota` if the map is too small. Cost: usually none;
    /// otherwise all rows are read and all entries written in one transaction.
    func renewIndexes() throws(StoreError) {
        let stamp = Array(options.collation.utf8)
        let found = try current.get(tables.meta, MetaKey.collation.key).map { Array($0) }
        guard found != stamp else { return endTransaction() }
        do throws(StoreError) {
            try rewriteIndexes(current)
            try current.put(tables.meta, MetaKey.collation.key, stamp)
            try checkpoint()
        } catch  where error.code == .damaged {
            try revert()
        }
    }

    private func rewriteIndexes(_ open: LMDBTransaction) throws(StoreError) {
        try open.clear(tables.indexes)
        for entity in model?.entities ?? [] where !entity.indexes.isEmpty {
            try rows(of: entity.tag) { (stored) throws(StoreError) in
                for index in entity.indexes {
                    let key = StoreKey.index(index, stored.row, entity, stored.object.number)
                    try open.put(tables.indexes, key, tag: entity.tag)
                }
            }
        }
    }
}

import TandemModel
import TandemQuery

/// What the keys of indexes were made by: their own form and the tables of Unicode, which come with the program.
///
/// The store is stamped with it when it is made. A program with another stamp makes the entries of all indexes anew when it opens the
/// store, before anybody reads. Today's keys go by code point and would be the same under any tables; the stamp is there so that no
/// store can hold keys of which nobody knows by what they are ordered.
extension Store {
    /// Makes the entries of all indexes anew if another program made them; durable on return.
    ///
    /// A store with rows that can't be read keeps what it has and its stamp until it is repaired. Throws ``StoreError``,
    /// among them `overQuota` if the map is too small. Cost: nothing as a rule, else a read of all rows and a write of all entries, in one transaction.
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

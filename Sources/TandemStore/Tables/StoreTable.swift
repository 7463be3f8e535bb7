/// The tables of the store; raw values are their names in LMDB.
package enum StoreTable: String, Hashable, Sendable, CaseIterable {
    /// The rows, from which most other tables are derived.
    case rows
    /// Every object number ever used, with its entity.
    case numbers
    /// The members of to-many relationships.
    case links
    /// The declared indexes.
    case indexes
    /// The unique keys.
    case unique
    /// The answers to saves by save id.
    case saves
    /// The ids of saves that wrote, by position.
    case saveOrder
    /// The ids of saves that did not write, by position.
    case unchanged
    /// The contents of blobs.
    case blobs
    /// The number of uses of each blob in rows.
    case blobUses
    /// The blobs that no row uses.
    case unusedBlobs
    /// The acknowledged positions of the journal's consumers.
    case consumers
    /// Format, identity, positions and model.
    case meta
}

extension StoreTables {
    subscript(table: StoreTable) -> LMDBTable {
        switch table {
        case .rows: rows
        case .numbers: numbers
        case .links: links
        case .indexes: indexes
        case .unique: unique
        case .saves: saves
        case .saveOrder: saveOrder
        case .unchanged: unchanged
        case .blobs: blobs
        case .blobUses: blobUses
        case .unusedBlobs: unusedBlobs
        case .consumers: consumers
        case .meta: meta
        }
    }
}

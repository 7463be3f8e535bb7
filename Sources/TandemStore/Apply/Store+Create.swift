import Glibc
import TandemIO
import TandemModel

/// How a new store comes into being: whole or not at all.
///
/// LMDB writes the first pages of a new file unsynced and never syncs the file's name. So it is made
/// in a directory of its own and renamed into place when it is durable: a power cut leaves no half
/// file that LMDB refuses, and none that says another log than the journal because the first was lost.
extension Store {
    private static let file = "data.mdb"
    /// Where a new store is made, below its directory.
    private static let workshop = "new"
    /// Enough for empty tables, whatever address space there is.
    private static let mapBytes = 1 << 20

    /// Makes the store's file unless there is one; its name is durable on return.
    static func create(
        _ path: String, _ identity: @autoclosure () -> StoreIdentity
    ) throws(StoreError) {
        let files = RealFileSystem()
        let place = path + "/" + workshop
        clear(place, files)
        do {
            if !files.exists(path + "/" + file) {
                try files.createDirectory(place, mode: 0o700)
                try fill(place, identity())
                try files.rename(place + "/" + file, to: path + "/" + file)
                clear(place, files)
            }
            // Also for one that exists: whoever made it may have died before this.
            try files.syncDirectory(path)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(
                .failed,
                "cannot create the store at \(path): \(error); "
                    + "check the owner, the mode and the disk, then start again")
        }
    }

    private static func fill(
        _ place: String, _ identity: StoreIdentity
    ) throws(StoreError) {
        let environment = try LMDBEnvironment(
            path: place, mapBytes: mapBytes, tables: StoreTables.count)
        defer { environment.close() }
        let transaction = try environment.begin()
        let tables = try StoreTables(transaction, create: true)
        try transaction.put(tables.meta, MetaKey.format.key, StoreIdentity.bytes(Store.format))
        try transaction.put(tables.meta, MetaKey.identity.key, identity.bytes)
        try transaction.put(
            tables.meta, MetaKey.collation.key, Array(StoreOptions.programCollation.utf8))
        try transaction.put(
            tables.meta, MetaKey.folding.key, Array(StoreOptions.programFolding.utf8))
        try transaction.commit()
    }

    /// Removes what an earlier attempt left.
    private static func clear(_ place: String, _ files: RealFileSystem) {
        guard files.exists(place) else { return }
        for name in [file, "lock.mdb"] { try? files.remove(place + "/" + name) }
        rmdir(place)
    }
}

import Glibc
import TandemIO
import TandemModel

/// The store's file: its atomic creation, and the check of its format.
///
/// LMDB writes the first pages of a new file without a sync, and never syncs the directory entry.
/// The file is therefore created in a separate directory, and renamed when it is durable. A power
/// cut can thus leave neither a partial file that LMDB rejects, nor a file whose log id differs
/// from the journal's.
enum StoreFile {
    private static let file = "data.mdb"
    /// The name of the temporary subdirectory in which a new store is created.
    private static let temporaryFolderName = "new"
    /// The size of the map, large enough for empty tables and small enough for any limit on address
    /// space.
    private static let mapBytes = 1 << 20

    /// Creates the store's file unless it exists; its directory entry is durable on return.
    static func create(
        _ path: String, _ identity: @autoclosure () -> StoreIdentity
    ) throws(StoreError) {
        let files = RealFileSystem()
        let place = path + "/" + temporaryFolderName
        clear(place, files)
        do {
            if !files.exists(path + "/" + file) {
                try files.createDirectory(place, mode: 0o700)
                try fill(place, identity())
                try files.rename(place + "/" + file, to: path + "/" + file)
                clear(place, files)
            }
            // An existing file needs this too, because the process that created it may have died
            // before its own call.
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

    /// Removes the leftovers of an earlier attempt.
    private static func clear(_ place: String, _ files: RealFileSystem) {
        guard files.exists(place) else { return }
        for name in [file, "lock.mdb"] { try? files.remove(place + "/" + name) }
        rmdir(place)
    }

    /// Checks the format, and returns the identity.
    ///
    /// Throws `notOurs` for a different format, with `remedy` at the end of the message.
    static func identity(
        _ transaction: LMDBTransaction, _ tables: StoreTables, _ path: String, remedy: String
    ) throws(StoreError) -> StoreIdentity {
        guard let bytes = try transaction.get(tables.meta, MetaKey.format.key), bytes.count == 4
        else {
            throw StoreError(.notOurs, "the file at \(path) is not a Tandem store")
        }
        let format = UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
        guard format == Store.format else {
            throw StoreError(
                .notOurs,
                "the store at \(path) has format \(format), but this program supports format "
                    + "\(Store.format); \(remedy)")
        }
        return try StoreIdentity(try transaction.get(tables.meta, MetaKey.identity.key), path)
    }
}

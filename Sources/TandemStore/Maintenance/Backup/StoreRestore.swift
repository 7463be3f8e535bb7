package import TandemIO
import TandemModel

/// Restores a backup into an empty directory.
package enum StoreRestore {
    /// The suffix of the directory's temporary name until the restore is complete.
    static let suffix = ".restoring"

    /// Restores a backup to the directory `store`, which must be missing or empty.
    ///
    /// `raiseEpoch` receives the folder of the restored journal and must durably begin a new epoch
    /// in it, because transactions that clients saw after the backup no longer exist. Calls
    /// `progress` with the number of bytes read. The daemon applies the journal's tail when it next
    /// starts with the directory. Throws ``StoreError``, ``IOError`` and the errors of
    /// `raiseEpoch`, after removing all files. Cost: reads the backup twice.
    @discardableResult
    package static func run(
        _ backup: String, to store: String, files: RealFileSystem = RealFileSystem(),
        progress: (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
        raiseEpoch: (_ journal: String, _ manifest: BackupManifest) throws -> Void
    ) throws -> BackupManifest {
        guard !files.exists(store) || files.isEmptyDirectory(store) else {
            throw StoreError(
                .notOurs, "\(store) is not empty; restore into an empty or new directory")
        }
        // Every byte is read three times: for the comparison, for the copy, and back from the copy.
        let manifest = try StoreBackup.verify(backup, files: files) { progress($0, 3 &* $1) }
        let draft = store + suffix
        try StoreBackup.removeLeftover(draft, ["journal", "store"], files)
        do {
            var done = manifest.bytes
            try copy(manifest, backup, draft, files) {
                done += $0
                progress(done, 3 &* manifest.bytes)
            }
            try raiseEpoch(draft + "/journal", manifest)
            try files.rename(draft, to: store)
            try files.syncDirectory(StoreBackup.parent(of: store))
        } catch {
            try? files.removeTree(draft)
            throw error
        }
        return manifest
    }

    private static func copy(
        _ manifest: BackupManifest, _ backup: String, _ draft: String, _ files: RealFileSystem,
        done: (UInt64) -> Void
    ) throws {
        for folder in ["store", "journal"] {
            try files.createDirectory("\(draft)/\(folder)", mode: 0o700)
        }
        for file in manifest.files {
            let copy = "\(draft)/\(file.name)"
            try FileCopy.copy("\(backup)/\(file.name)", to: copy, files, done: done)
            // The source may have changed in the meantime, or this read may have failed silently.
            guard try FileCopy.hash(of: copy, files, done: done).hash == file.hash else {
                throw StoreError(
                    .damaged, "\(backup)/\(file.name) changed while it was read; use another backup"
                )
            }
        }
        for folder in ["journal", "store"] { try files.syncDirectory("\(draft)/\(folder)") }
    }
}

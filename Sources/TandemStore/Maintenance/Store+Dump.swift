public import TandemModel

/// The logical dump of law 6: the model, rows, links, unique keys and blobs, one per line, in key
/// order.
///
/// The line of a blob contains its SHA-256, in place of its content, and the number of its uses in
/// rows. A rebuild of the store from the journal gives the same dump, byte for byte. Indexes are
/// derived from rows and are verified by ``check(progress:)`` instead. Leases and save ids are
/// operational state and not part of the dump.
extension Store {
    /// Calls `line` with each line of the dump.
    ///
    /// Calls `progress` with the number of keys read and their total number.
    public func dump(
        progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
        _ line: (String) -> Void
    ) throws(StoreError) {
        var keys = KeyProgress(
            of: try current.count([tables.rows, tables.links, tables.unique, tables.blobUses]),
            progress)
        defer { keys.end() }
        line("position \(appliedPosition)")
        guard let model else { return line("model none") }
        line("model \(model.version) \(model.hash) \(model.model.json.text)")
        try dump(tables.rows, "row", &keys, line)
        try dump(tables.links, "link", &keys, line)
        try dump(tables.unique, "unique", &keys, line)
        try current.scan(tables.blobUses, from: []) { hash, value in
            keys.step()
            guard let uses = BlobUses(value), uses.count > 0 else { return true }
            line("blob \(StoreKey.hex(hash)) \(uses.count)")
            return true
        }
    }

    /// Returns the hash of the dump; equal stores have equal hashes.
    ///
    /// Calls `progress` with the number of keys read and their total number. Cost: reads
    /// everything.
    public func stateHash(
        progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in }
    ) throws(StoreError) -> StableHash {
        var hash = StableHash([])
        try dump(progress: progress) { line in
            var bytes = Array(line.utf8)
            bytes += Array(hash.description.utf8)
            hash = StableHash(bytes)
        }
        return hash
    }

    private func dump(
        _ table: LMDBTable, _ name: String, _ keys: inout KeyProgress, _ line: (String) -> Void
    ) throws(StoreError) {
        try current.scan(table, from: []) { key, value in
            keys.step()
            line("\(name) \(StoreKey.hex(key)) \(StoreKey.hex(value))")
            return true
        }
    }
}

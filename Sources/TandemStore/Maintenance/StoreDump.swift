package import TandemModel

/// Writes the logical dump of law 6: the model, rows, links, unique keys and blobs, one per line,
/// in key order.
///
/// The line of a blob has the SHA-256 of its content, and the number of its uses in rows. A store
/// rebuilt from the journal has the same dump, byte for byte. Indexes are derived from rows;
/// ``Store/check(progress:)`` verifies them. Leases and save ids are operational state and not part
/// of the dump.
struct StoreDump {
    private let view: StoreView
    private var keys: KeyProgress

    init(
        _ view: StoreView, progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(StoreError) {
        self.view = view
        let tables = view.tables
        keys = KeyProgress(
            of: try view.current.count([tables.rows, tables.links, tables.unique, tables.blobUses]),
            progress)
    }

    /// Calls `line` with each line.
    mutating func run(_ line: (String) -> Void) throws(StoreError) {
        defer { keys.end() }
        line("position \(view.appliedPosition)")
        guard let model = view.model else { return line("model none") }
        line("model \(model.version) \(model.hash) \(model.model.json.text)")
        try dump(view.tables.rows, "row", line)
        try dump(view.tables.links, "link", line)
        try dump(view.tables.unique, "unique", line)
        try view.current.scan(view.tables.blobUses, from: []) { hash, value in
            keys.step()
            guard let uses = BlobUses(value), uses.count > 0 else { return true }
            line("blob \(StoreKey.hex(hash)) \(uses.count)")
            return true
        }
    }

    private mutating func dump(
        _ table: LMDBTable, _ name: String, _ line: (String) -> Void
    ) throws(StoreError) {
        try view.current.scan(table, from: []) { key, value in
            keys.step()
            line("\(name) \(StoreKey.hex(key)) \(StoreKey.hex(value))")
            return true
        }
    }
}

extension Store {
    /// Calls `line` with each line of the dump.
    ///
    /// Calls `progress` with the number of keys read and their total number.
    package func dump(
        progress: @escaping (_ done: UInt64, _ total: UInt64) -> Void = { _, _ in },
        _ line: (String) -> Void
    ) throws(StoreError) {
        var dump = try StoreDump(self, progress: progress)
        try dump.run(line)
    }

    /// Returns the hash of the dump; equal stores have equal hashes.
    ///
    /// Calls `progress` with the number of keys read and their total number. Cost: reads
    /// everything.
    package func stateHash(
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
}

import TandemIO

/// Returns the paths of the journal segments of a store, oldest first.
func segments(of store: String) throws -> [String] {
    let folder = store + "/journal"
    return try RealFileSystem().list(folder).filter { $0.hasSuffix(".journal") }.sorted()
        .map { folder + "/" + $0 }
}

/// Flips a bit of the byte at `offset` of a file.
func flip(_ path: String, at offset: UInt64) throws {
    let file = try RealFileSystem().open(path, .readWrite)
    defer { file.close() }
    try file.write([try file.read(count: 1, at: offset)[0] ^ 4], at: offset)
}

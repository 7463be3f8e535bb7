package import TandemIO
import TandemModel

/// Copies and hashes files in pieces of bounded size.
package enum FileCopy {
    /// The size of a piece, in bytes.
    static let pieceBytes = 1 << 20

    /// Copies the first bytes of a file to a new file; durable on return.
    ///
    /// The new file must not exist, and its directory entry isn't synced. Calls `done` with the
    /// size of each piece. Throws ``IOError``.
    package static func copy(
        _ source: String, to target: String, bytes: UInt64? = nil, _ files: any FileSystem,
        done: (UInt64) -> Void = { _ in }
    ) throws(IOError) {
        let reader = try files.open(source, .read)
        defer { reader.close() }
        let writer = try files.open(target, .createNew)
        defer { writer.close() }
        let end = if let bytes { bytes } else { try reader.size() }
        var offset: UInt64 = 0
        while offset < end {
            let count = Int(min(UInt64(pieceBytes), end - offset))
            let piece = try reader.read(count: count, at: offset)
            guard !piece.isEmpty else { break }
            try writer.write(piece, at: offset)
            offset += UInt64(piece.count)
            done(UInt64(piece.count))
        }
        assert(offset <= end, "No more bytes are copied than requested.")
        try writer.sync()
    }

    /// Returns the size and the hash of a file.
    ///
    /// The hash is computed piece by piece: each step hashes a piece and the result of the previous
    /// step.
    static func hash(
        of path: String, _ files: any FileSystem, done: (UInt64) -> Void = { _ in }
    ) throws(IOError) -> (bytes: UInt64, hash: StableHash) {
        let file = try files.open(path, .read)
        defer { file.close() }
        var hash = StableHash([])
        var offset: UInt64 = 0
        while true {
            var piece = try file.read(count: pieceBytes, at: offset)
            offset += UInt64(piece.count)
            done(UInt64(piece.count))
            let isLast = piece.count < pieceBytes
            for half in [hash.first, hash.second] {
                withUnsafeBytes(of: half.littleEndian) { piece.append(contentsOf: $0) }
            }
            hash = StableHash(piece)
            if isLast { return (offset, hash) }
        }
    }
}

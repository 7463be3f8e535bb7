/// A file on the simulated disk: its durable content, the content that programs see, and the writes
/// in between.
///
/// A sector of 512 bytes reaches the disk as a whole, in its state after one of the writes to it.
/// So a crash keeps a prefix of the unsynced writes to each sector, and the prefixes of different
/// sectors are independent.
final class DiskFile {
    static let sectorBytes = 512

    private enum Change {
        case write(offset: Int, bytes: [UInt8])
        /// A change to this size.
        case truncate(Int)
    }

    private var durable: [UInt8]
    private(set) var content: [UInt8]
    private var pending: [(number: Int, change: Change)] = []
    /// The sectors that were synced individually, with the number up to which pending writes are
    /// durable there.
    private var individuallySynced: [Int: Int] = [:]

    init(_ bytes: [UInt8] = []) {
        durable = bytes
        content = bytes
    }

    var isSynced: Bool { pending.isEmpty }

    func write(_ bytes: [UInt8], at offset: Int, number: Int) {
        Self.apply(.write(offset: offset, bytes: bytes), to: &content)
        pending.append((number, .write(offset: offset, bytes: bytes)))
    }

    func truncate(to size: Int, number: Int) {
        Self.apply(.truncate(size), to: &content)
        pending.append((number, .truncate(size)))
    }

    func allocate(_ size: Int, number: Int) {
        if size > content.count { truncate(to: size, number: number) }
    }

    /// Makes all writes durable.
    func sync() {
        durable = content
        pending.removeAll()
        individuallySynced.removeAll()
    }

    /// Makes only the sectors of a range durable, as a synchronous write does.
    func sync(_ range: Range<Int>, number: Int) {
        let sectors =
            range.lowerBound / Self.sectorBytes...(range.upperBound - 1) / Self.sectorBytes
        for sector in sectors {
            let start = sector * Self.sectorBytes
            let end = min(start + Self.sectorBytes, content.count)
            let bytes = Array(content[start..<end])
            Self.apply(.write(offset: start, bytes: bytes), to: &durable)
            individuallySynced[sector] = number
        }
    }

    /// Returns the content after a crash.
    ///
    /// `keeps` returns the number of the last write to a sector that is kept, and `keepsSize` is
    /// the number of the last size change kept.
    func survivor(keeps: (Int) -> Int, keepsSize: Int) -> [UInt8] {
        guard !pending.isEmpty else { return durable }
        var bytes = durable
        for (number, change) in pending {
            switch change {
            case .truncate: if number <= keepsSize { Self.apply(change, to: &bytes) }
            case .write(let offset, let written):
                // The size may be on the disk without the bytes.
                let end = offset + written.count
                if number <= keepsSize, end > bytes.count { Self.apply(.truncate(end), to: &bytes) }
                apply(written, at: offset, number, to: &bytes, keeps)
            }
        }
        return bytes
    }

    private func apply(
        _ written: [UInt8], at offset: Int, _ number: Int, to bytes: inout [UInt8],
        _ keeps: (Int) -> Int
    ) {
        var start = offset
        while start < offset + written.count {
            let sector = start / Self.sectorBytes
            let end = min((sector + 1) * Self.sectorBytes, offset + written.count)
            if number <= keeps(sector), number > individuallySynced[sector] ?? -1 {
                let piece = Array(written[start - offset..<end - offset])
                Self.apply(.write(offset: start, bytes: piece), to: &bytes)
            }
            start = end
        }
    }

    private static func apply(_ change: Change, to bytes: inout [UInt8]) {
        switch change {
        case .truncate(let size):
            if size < bytes.count {
                bytes.removeLast(bytes.count - size)
            } else {
                bytes += [UInt8](repeating: 0, count: size - bytes.count)
            }
        case .write(let offset, let written):
            let end = offset + written.count
            if end > bytes.count { bytes += [UInt8](repeating: 0, count: end - bytes.count) }
            bytes.withUnsafeMutableBytes { target in
                UnsafeMutableRawBufferPointer(rebasing: target[offset..<end])
                    .copyBytes(from: written)
            }
        }
    }
}

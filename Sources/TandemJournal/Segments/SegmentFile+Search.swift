import TandemIO

/// Searches for batches without reading the whole segment.
///
/// The checksum, which begins with the segment's salt, distinguishes a batch from a payload that
/// looks like one.
extension SegmentFile {
    /// A batch and its offset.
    typealias Found = (offset: UInt64, header: BatchHeader)

    /// Returns the next whole batch above an offset with a number above `number`.
    func nextBatch(above offset: UInt64, number: UInt64) throws(JournalError) -> Found? {
        var offset = offset + UInt64(SegmentFormat.alignment)
        while let found = try nextMagic(from: offset) {
            if case .batch(let header) = try readBatch(at: found, after: nil),
                header.batchNumber > number
            {
                return (found, header)
            }
            offset = found + UInt64(SegmentFormat.alignment)
        }
        return nil
    }

    private func nextMagic(from start: UInt64) throws(JournalError) -> UInt64? {
        var offset = start
        while let range = try loadWindow(at: offset) {
            let bytes = bytes(range.lowerBound, range.count)
            if let hit = bytes.firstMagic { return offset + UInt64(hit) }
            // The window may end within a step of eight bytes; the next window begins with that
            // step.
            offset += UInt64(max(8, range.count / 8 * 8))
        }
        return nil
    }

    /// Returns a batch at or before the one that holds a position, by bisection between two
    /// offsets.
    ///
    /// Reads a few windows, regardless of the segment's size; returns nil if no probe found a
    /// batch.
    func batch(
        nearest position: UInt64, from low: UInt64, below high: UInt64
    ) throws(JournalError) -> Found? {
        var best: Found?
        var (low, high) = (low, high)
        while high > low, high - low > UInt64(4 * windowBytes) {
            let middle = low + (high - low) / 2 / 8 * 8
            guard try !isZero(at: middle), let found = try nextBatch(above: middle - 8, number: 0),
                found.header.firstPosition <= position
            else {
                high = middle
                continue
            }
            assert(found.offset >= middle, "Each probe finds a batch at or after its offset.")
            best = found
            low = found.offset
        }
        return best
    }

    /// Whether the window at an offset contains only zeros.
    private func isZero(at offset: UInt64) throws(JournalError) -> Bool {
        refresh()
        guard let range = try loadWindow(at: offset) else { return true }
        return bytes(range.lowerBound, range.count).isZero
    }

    /// Returns the last whole batch if it ends the segment as the next segment's header specifies.
    ///
    /// Searches from the end, so it reads little more than that batch.
    func lastBatch(before next: SegmentHeader) throws(JournalError) -> Found? {
        guard let end = try contentEnd() else { return nil }
        let first = UInt64(SegmentFormat.headerBytes)
        var high = (end + 7) / 8 * 8
        while high > first {
            let low = max(first, high - min(high, UInt64(windowBytes)))
            for offset in try magics(in: low..<high).reversed() {
                guard case .batch(let header) = try readBatch(at: offset, after: nil),
                    Chain(after: header) == Chain(startOf: next),
                    offset + UInt64(header.frameBytes) >= end
                else { continue }
                return (offset, header)
            }
            high = low
        }
        return nil
    }

    /// Returns the offset after the file's last non-zero byte; nil if there is none.
    private func contentEnd() throws(JournalError) -> UInt64? {
        var high = try size()
        while high > 0 {
            let low = (high - 1) / UInt64(windowBytes) * UInt64(windowBytes)
            refresh()
            if let range = try loadWindow(at: low),
                let last = bytes(range.lowerBound, min(range.count, Int(high - low))).lastNonZero
            {
                return low + UInt64(last) + 1
            }
            high = low
        }
        return nil
    }

    /// Returns the offsets at which batches may begin, in a range of at most one window.
    private func magics(in range: Range<UInt64>) throws(JournalError) -> [UInt64] {
        refresh()
        guard let loaded = try loadWindow(at: range.lowerBound) else { return [] }
        let bytes = bytes(loaded.lowerBound, min(loaded.count, range.count))
        return bytes.magics.map { range.lowerBound + UInt64($0) }
    }
}

extension UnsafeRawBufferPointer {
    /// The first multiple of eight with a batch's magic.
    fileprivate var firstMagic: Int? {
        // A fast path for zeros.
        if isZero { return nil }
        return stride(from: 0, to: count - 3, by: SegmentFormat.alignment).first {
            get(UInt32.self, at: $0) == SegmentFormat.batchMagic
        }
    }

    /// All multiples of eight with a batch's magic.
    fileprivate var magics: [Int] {
        stride(from: 0, to: count - 3, by: SegmentFormat.alignment).filter {
            get(UInt32.self, at: $0) == SegmentFormat.batchMagic
        }
    }
}

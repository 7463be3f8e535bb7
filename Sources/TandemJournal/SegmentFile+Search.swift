import TandemIO

/// Finding batches in a segment without walking through it.
///
/// A batch is told from a payload that looks like one by its checksum, which begins with the
/// segment's salt.
extension SegmentFile {
    /// A batch and where it lies.
    typealias Found = (offset: UInt64, header: BatchHeader)

    /// Finds the next whole batch above an offset with a number above `number`.
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
        while let range = try loadSome(offset) {
            let bytes = bytes(range.lowerBound, range.count)
            if let hit = bytes.firstMagic { return offset + UInt64(hit) }
            // The window may end within a step of eight; the next begins at one.
            offset += UInt64(max(8, range.count / 8 * 8))
        }
        return nil
    }

    /// A batch at or below the one that holds a position, by bisection between two offsets.
    ///
    /// Reads a few windows however big the segment is; nil if no probe found one.
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
            best = found
            low = found.offset
        }
        return best
    }

    /// Whether what is read at once at an offset is all zeros.
    private func isZero(at offset: UInt64) throws(JournalError) -> Bool {
        refresh()
        guard let range = try loadSome(offset) else { return true }
        return bytes(range.lowerBound, range.count).isZero
    }

    /// The last whole batch, if it ends the segment as the header of the next one says.
    ///
    /// Sought from the end, so it reads little more than that batch.
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

    /// The offset behind the last byte of the file that is not zero; nil if there is none.
    private func contentEnd() throws(JournalError) -> UInt64? {
        var high = try size()
        while high > 0 {
            let low = (high - 1) / UInt64(windowBytes) * UInt64(windowBytes)
            refresh()
            if let range = try loadSome(low),
                let last = bytes(range.lowerBound, min(range.count, Int(high - low))).lastNonZero
            {
                return low + UInt64(last) + 1
            }
            high = low
        }
        return nil
    }

    /// Where batches may begin in a range of one window at most.
    private func magics(in range: Range<UInt64>) throws(JournalError) -> [UInt64] {
        refresh()
        guard let loaded = try loadSome(range.lowerBound) else { return [] }
        let bytes = bytes(loaded.lowerBound, min(loaded.count, range.count))
        return bytes.magics.map { range.lowerBound + UInt64($0) }
    }
}

extension UnsafeRawBufferPointer {
    /// The first multiple of eight at which a batch's magic stands.
    fileprivate var firstMagic: Int? {
        // Whole runs of zeros are passed over at once.
        if isZero { return nil }
        return stride(from: 0, to: count - 3, by: SegmentFormat.alignment).first {
            get(UInt32.self, at: $0) == SegmentFormat.batchMagic
        }
    }

    /// All multiples of eight at which a batch's magic stands.
    fileprivate var magics: [Int] {
        stride(from: 0, to: count - 3, by: SegmentFormat.alignment).filter {
            get(UInt32.self, at: $0) == SegmentFormat.batchMagic
        }
    }
}

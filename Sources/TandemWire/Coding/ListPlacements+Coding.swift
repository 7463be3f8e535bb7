package import TandemModel
public import TandemQuery

extension ListPlacements: WireCodable {
    /// The smallest encoded size of an object in bytes: its number and the end offset of its key.
    private static let minimumBytes = 12

    /// Appends the binary form column by column, so that a hundred thousand objects need only a few
    /// copies.
    package func encode(into writer: inout ByteWriter) {
        writer.names(sections)
        writer.references(reached)
        encodeChunk(into: &writer)
    }

    /// Appends the binary form of a chunk, without section names and reached objects.
    func encodeChunk(into writer: inout ByteWriter) {
        writer.reserve(count * Self.minimumBytes + withKeys { keys, _ in keys.count })
        writer.count(hopCount)
        writer.count(count)
        writer.runs(tagRuns)
        writer.column(numbers)
        writer.column(keyEnds)
        withKeys { keys, _ in writer.raw(keys) }
        writer.runs(sectionRuns)
        for runs in linkRuns { writer.runs(runs) }
    }

    /// Reads the binary form or throws `CodingError`.
    ///
    /// Also throws if the index of a section name or reached object is out of range, or if the runs
    /// don't cover all objects.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let sections = try reader.names(limit: .max)
        let reached = try reader.references()
        self.init(sections: sections, reached: reached, hopCount: try reader.hopCount())
        try readObjects(from: &reader, sections: sections.count, reached: reached.count)
    }

    /// Reads the binary form of a chunk; ``append(_:)`` checks the indices in it.
    init(chunkFrom reader: inout ByteReader) throws(CodingError) {
        self.init(hopCount: try reader.hopCount())
        let most = Int(UInt32.max)
        try readObjects(from: &reader, sections: most, reached: most)
    }

    private mutating func readObjects(
        from reader: inout ByteReader, sections: Int, reached: Int
    ) throws(CodingError) {
        let count = try reader.count(itemBytes: Self.minimumBytes)
        tagRuns = try reader.runs(of: count, below: 1 << 16)
        numbers = try reader.column(of: count)
        keyEnds = try reader.decodeEndOffsets(of: count)
        keys = try reader.raw(Int(keyEnds.last ?? 0))
        sectionRuns = try reader.runs(of: count, below: sections)
        for hop in 0..<hopCount { linkRuns[hop] = try reader.runs(of: count, below: reached + 1) }
    }
}

extension ListDetails: WireCodable {
    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.optional(sectionKeyPath) { $0.string($1) }
        writer.names(refreshKeyPaths)
        writer.list(hops) { $0.names($1) }
        writer.uint32(rowsUpTo)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        self.init(
            sectionKeyPath: try reader.optionalString(), refreshKeyPaths: try reader.names(),
            hops: try reader.list(itemBytes: 1, limit: WireLimits.names) {
                reader throws(CodingError) in
                try reader.names(limit: WireLimits.keyPathHops)
            }, rowsUpTo: try reader.uint32())
    }
}

extension ByteWriter {
    /// Writes numbers as a column of fixed-width integers.
    fileprivate mutating func column<Number: FixedWidthInteger & BitwiseCopyable>(
        _ numbers: [Number]
    ) {
        if Number(1).littleEndian == 1 {
            numbers.withUnsafeBytes { raw($0) }
        } else {
            for number in numbers { fixed(number) }
        }
    }

    /// Writes the lengths and values of runs.
    fileprivate mutating func runs(_ runs: [ListPlacements.Run]) {
        count(runs.count)
        var start = 0
        for run in runs {
            count(run.end - start)
            varint(UInt64(run.value))
            start = run.end
        }
    }
}

extension ByteReader {
    fileprivate mutating func hopCount() throws(CodingError) -> Int {
        let start = offset
        let hopCount = Int(clamping: try varint())
        guard hopCount <= WireLimits.names else {
            throw CodingError(expected: "at most \(WireLimits.names) hops", offset: start)
        }
        return hopCount
    }

    fileprivate mutating func column<Number: FixedWidthInteger & BitwiseCopyable>(
        of count: Int
    ) throws(CodingError) -> [Number] {
        let width = MemoryLayout<Number>.size
        let (size, isTooMuch) = count.multipliedReportingOverflow(by: width)
        let range = try consume(isTooMuch ? .max : size, "\(count) numbers of \(width) bytes")
        // An empty array must not be created this way: its count would be written to the storage
        // that all empty arrays share.
        guard count > 0 else { return [] }
        return bytes.withUnsafeBytes { bytes in
            [Number](unsafeUninitializedCapacity: count) { numbers, made in
                UnsafeMutableRawBufferPointer(numbers)
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[range]))
                for at in 0..<count where Number(1).littleEndian != 1 {
                    numbers[at] = Number(littleEndian: numbers[at])
                }
                made = count
            }
        }
    }

    /// Reads a column of ascending end offsets.
    fileprivate mutating func decodeEndOffsets(of count: Int) throws(CodingError) -> [UInt32] {
        let start = offset
        let ends: [UInt32] = try column(of: count)
        var last: UInt32 = 0
        for end in ends {
            guard end >= last else {
                throw CodingError(expected: "key end offsets in ascending order", offset: start)
            }
            last = end
        }
        return ends
    }

    /// Reads runs that cover `count` objects, with values below `limit`.
    fileprivate mutating func runs(
        of count: Int, below limit: Int
    ) throws(CodingError) -> [ListPlacements.Run] {
        let start = offset
        let number = try self.count(itemBytes: 2)
        var (runs, end): ([ListPlacements.Run], Int) = ([], 0)
        runs.reserveCapacity(min(number, 4_096))
        for _ in 0..<number {
            let at = offset
            let length = try varint()
            guard length > 0, length <= UInt64(count - end) else {
                throw CodingError(expected: "a run of at most \(count - end) objects", offset: at)
            }
            end += Int(length)
            runs.append(ListPlacements.Run(end: end, value: try place(below: limit)))
        }
        guard end == count else {
            throw CodingError(expected: "runs of \(count) objects", offset: start)
        }
        return runs
    }

    fileprivate mutating func place(below count: Int) throws(CodingError) -> UInt32 {
        let start = offset
        let place = try varint()
        guard place < UInt64(count), place <= UInt64(UInt32.max) else {
            throw CodingError(expected: "an index below \(count)", offset: start)
        }
        return UInt32(place)
    }
}

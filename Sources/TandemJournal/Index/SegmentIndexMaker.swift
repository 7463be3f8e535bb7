import TandemIO

/// Builds the index of one sealed segment by reading the segment, and writes the file.
///
/// Bound to one thread. `rest` is called about once per megabyte read and once per quarter of a
/// megabyte written. It may pause, and throws to cancel the work.
struct SegmentIndexMaker {
    typealias Rest = () throws(JournalError) -> Void

    private static let readBytes: UInt64 = 1 << 20
    private static let writtenBytes = 256 << 10

    let directory: String
    let fileSystem: any FileSystem
    let reading: PayloadReading

    /// Returns the bytes of the index of the segment at `first`, which is sealed by the one at
    /// `next`.
    ///
    /// Throws `damaged` if the segment can't be read completely. Queries then read the segment
    /// itself, and report the damage.
    func bytes(
        of first: UInt64, before next: UInt64, rest: Rest = { () throws(JournalError) in }
    ) throws(JournalError) -> [UInt8] {
        let segment = try SegmentFile(
            directory, first: first, fileSystem, window: SegmentFile.recoveryWindow)
        defer { segment.file.close() }
        let following = try SegmentFile(directory, first: next, fileSystem)
        defer { following.file.close() }
        var builder = SegmentIndexBuilder(IndexedSegment(segment.header, before: following.header))
        let end = try read(segment, into: &builder, rest)
        guard end.chain == Chain(startOf: following.header) else {
            throw .damaged(
                segment.path, at: end.offset, "the next segment does not continue this one")
        }
        return builder.finish()
    }

    private func read(
        _ segment: SegmentFile, into builder: inout SegmentIndexBuilder, _ rest: Rest
    ) throws(JournalError) -> (offset: UInt64, chain: Chain) {
        var chain = Chain(startOf: segment.header)
        var offset = UInt64(SegmentFormat.headerBytes)
        var rested = offset
        while true {
            switch try segment.readBatch(at: offset, after: chain) {
            case .end: return (offset, chain)
            case .bad(let problem): throw .damaged(segment.path, at: offset, problem)
            case .batch(let header):
                builder.mark(header.firstPosition, at: offset)
                try add(segment, offset, header, to: &builder)
                chain = Chain(after: header)
                offset += UInt64(header.frameBytes)
            }
            if offset - rested >= Self.readBytes {
                try rest()
                rested = offset
            }
        }
    }

    private func add(
        _ segment: SegmentFile, _ offset: UInt64, _ header: BatchHeader,
        to builder: inout SegmentIndexBuilder
    ) throws(JournalError) {
        let isWhole = try segment.withBytes(at: offset, count: header.frameBytes) { frame in
            var start = SegmentFormat.Batch.body
            let end = start + Int(header.length)
            for index in 0..<UInt64(header.count) {
                let body = start + SegmentFormat.payloadPrefixBytes
                guard body <= end else { return false }
                let length = Int(frame.get(UInt32.self, at: start))
                guard length <= end - body else { return false }
                let payload = Array(frame[body..<body + length])
                builder.add(header.firstPosition + index, reading(payload))
                start = body + length
            }
            return true
        }
        guard isWhole == true else {
            throw .damaged(
                segment.path, at: offset,
                "the payloads of batch \(header.batchNumber) do not fit into it")
        }
    }

    /// Writes an index under a temporary name, and renames it once it is on the disk.
    ///
    /// If the segment was removed in the meantime, its index is removed too.
    func write(
        _ bytes: [UInt8], of first: UInt64, rest: Rest = { () throws(JournalError) in }
    ) throws(JournalError) {
        let draft = directory + "/" + JournalDirectory.newIndexName
        let path = directory + "/" + JournalDirectory.indexName(of: first)
        do throws(JournalError) {
            try write(bytes, to: draft, rest)
            try converting(JournalError.unreadable) { () throws(IOError) in
                try fileSystem.rename(draft, to: path)
                try fileSystem.syncDirectory(directory)
            }
        } catch {
            try? fileSystem.remove(draft)
            throw error
        }
        if !fileSystem.exists(directory + "/" + JournalDirectory.name(of: first)) {
            try? fileSystem.remove(path)
        }
    }

    /// Writes in pieces, because the flush of an append may have to wait for a piece to be written.
    private func write(
        _ bytes: [UInt8], to draft: String, _ rest: Rest
    ) throws(JournalError) {
        let file = try converting(JournalError.unreadable) { () throws(IOError) in
            if fileSystem.exists(draft) { try fileSystem.remove(draft) }
            return try fileSystem.open(draft, .createNew)
        }
        defer { file.close() }
        for start in stride(from: 0, to: bytes.count, by: Self.writtenBytes) {
            let piece = Array(bytes[start..<min(bytes.count, start + Self.writtenBytes)])
            try converting(JournalError.unreadable) { () throws(IOError) in
                try file.write(piece, at: UInt64(start))
                try file.sync()
            }
            try rest()
        }
    }
}

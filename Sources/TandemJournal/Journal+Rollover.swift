import TandemIO

extension Journal {
    /// Begins a segment that continues the chain; its header and name are durable on return.
    ///
    /// A segment without batches is replaced by the new one of the same name.
    func beginSegment(identity: LogIdentity, minimumBytes: Int) throws(JournalError) {
        assert(
            identity.isSameLog(as: self.identity) && identity.epoch >= self.identity.epoch,
            "A segment belongs to the same log, and epochs never decrease.")
        let header = SegmentHeader(
            identity: identity, previousChecksum: chain.checksum, firstPosition: chain.position,
            firstBatch: chain.batchNumber, salt: options.makeSalt())
        // The batches to which the header's chain refers must be on the disk before the header.
        try sync()
        let made = try makeSegment(header, max(minimumBytes, options.segmentBytes))
        do throws(IOError) {
            try fileSystem.syncDirectory(directory)
        } catch {
            throw fail(error)
        }
        let isSealed = currentFirst != header.firstPosition
        let finished = JournalSegment(
            first: currentFirst, last: chain.position - 1, bytes: capacity)
        if isSealed { sealed.append(finished) }
        current.close()
        current = made.file
        capacity = made.bytes
        currentFirst = header.firstPosition
        salt = header.salt
        end = UInt64(SegmentFormat.headerBytes)
        checkInvariants()
        if isSealed { indexer.add([finished]) }
    }

    /// Creates the file of the next segment; throws `noSpace` on failure.
    ///
    /// No failure here is fatal to the journal, because existing files stay unchanged until the new
    /// name may have reached the disk.
    private func makeSegment(
        _ header: SegmentHeader, _ bytes: Int
    ) throws(JournalError) -> (file: any File, bytes: UInt64) {
        try converting(JournalError.noSpace) { () throws(IOError) in
            try Self.install(header, try maker.claim(bytes: bytes), directory, fileSystem)
        }
    }

    /// Writes the header into a zero-filled file, and renames the file to its final name.
    ///
    /// The caller makes the name durable. The file is removed on failure.
    static func install(
        _ header: SegmentHeader, _ spare: String, _ directory: String,
        _ fileSystem: any FileSystem
    ) throws(IOError) -> (file: any File, bytes: UInt64) {
        do throws(IOError) {
            let file = try fileSystem.open(spare, .readWrite)
            let bytes = try file.size()
            try file.write(header.encoded(), at: 0)
            try file.sync()
            let path = directory + "/" + JournalDirectory.name(of: header.firstPosition)
            try fileSystem.rename(spare, to: path)
            file.renamed(to: path)
            return (file, bytes)
        } catch {
            try? fileSystem.remove(spare)
            throw error
        }
    }
}

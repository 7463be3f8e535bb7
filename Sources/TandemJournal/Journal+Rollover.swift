import TandemIO

extension Journal {
    /// Begins a segment that continues the chain; durable, header and name, on return.
    ///
    /// A segment without batches is replaced by the new one, which has the same name.
    func beginSegment(identity: LogIdentity, minimumBytes: Int) throws(JournalError) {
        let bytes = max(minimumBytes, options.segmentBytes)
        let spare = try takeSpare(bytes)
        let header = SegmentHeader(
            identity: identity, previousChecksum: chain.checksum, firstPosition: chain.position,
            firstBatch: chain.batchNumber, salt: options.makeSalt())
        do throws(IOError) {
            // What the header's chain vouches for must be on the disk before it.
            if options.durability == .relaxed { try current.sync() }
            let made = try Self.place(header, spare, directory, fileSystem)
            current.close()
            current = made.file
            capacity = made.bytes
        } catch {
            throw fail(error)
        }
        if currentFirst != header.firstPosition { sealed.append(currentFirst) }
        currentFirst = header.firstPosition
        salt = header.salt
        end = UInt64(SegmentFormat.headerBytes)
    }

    private func takeSpare(_ bytes: Int) throws(JournalError) -> String {
        do throws(IOError) {
            return try maker.take(bytes: bytes)
        } catch {
            // Nothing of the log was touched, so a full disk is no failure of it.
            if error.isOutOfSpace { throw .noSpace(error) }
            throw fail(error)
        }
    }

    /// Writes the header into a zero-filled file and renames it into place.
    static func place(
        _ header: SegmentHeader, _ spare: String, _ directory: String,
        _ fileSystem: any FileSystem
    ) throws(IOError) -> (file: any File, bytes: UInt64) {
        let path = directory + "/" + JournalDirectory.name(of: header.firstPosition)
        // A spare has its temporary name only until its header is durable.
        let staged = directory + "/" + JournalDirectory.stagedName
        try fileSystem.rename(spare, to: staged)
        let writer = try fileSystem.open(staged, .readWrite)
        try writer.write(header.encoded(), at: 0)
        try writer.sync()
        writer.close()
        try fileSystem.rename(staged, to: path)
        try fileSystem.syncDirectory(directory)
        let file = try fileSystem.open(path, .readWrite)
        return (file, try file.size())
    }
}

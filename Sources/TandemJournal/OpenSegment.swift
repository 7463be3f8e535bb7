import TandemIO

/// The segment to which a journal appends.
struct OpenSegment {
    /// The first position of the segment.
    let first: UInt64
    private let file: any File
    private let salt: UInt32
    /// The end of the batches, where the next one begins.
    private(set) var end: UInt64
    /// The size of the file.
    private(set) var capacity: UInt64

    init(_ file: any File, _ header: SegmentHeader, end: UInt64, capacity: UInt64) {
        self.file = file
        first = header.firstPosition
        salt = header.salt
        self.end = end
        self.capacity = capacity
        checkInvariants()
    }

    /// Asserts the relations between the end and the size.
    func checkInvariants() {
        assert(
            end >= UInt64(SegmentFormat.headerBytes) && end <= capacity,
            "The batches end between the header and the end of the segment.")
        assert(
            end % UInt64(SegmentFormat.alignment) == 0, "Batches begin at multiples of eight.")
    }

    /// Returns whether a batch of this many bytes fits after the last one.
    func hasRoom(for bytes: Int) -> Bool { end + UInt64(bytes) <= capacity }

    /// Whether more than this many quarters of the segment are in use.
    func isFilled(quarters: UInt64) -> Bool { end > capacity / 4 * quarters }

    /// Seals a batch that continues `chain`, and returns its checksum.
    func seal(_ batch: inout BatchBuilder, after chain: Chain) -> UInt32 {
        batch.seal(after: chain, salt: salt)
    }

    /// Writes a batch at ``end``, and leaves ``end`` unchanged.
    func write(_ frame: [UInt8]) throws(IOError) {
        assert(hasRoom(for: frame.count), "The reserved segment has room for the batch.")
        try file.write(frame, at: end)
    }

    /// Moves ``end`` past a batch that was written.
    mutating func didAppend(_ bytes: Int) {
        end += UInt64(bytes)
        checkInvariants()
    }

    /// Truncates the file after the last batch, durably.
    mutating func cutPartialBatch() throws(IOError) {
        try file.truncate(to: end)
        try file.sync()
        assert(end <= capacity, "Cutting a partial batch never extends the segment.")
        capacity = end
    }

    /// Makes all batches durable.
    func sync() throws(IOError) { try file.sync() }

    /// Closes the file.
    func close() { file.close() }

    /// Writes the header into a zero-filled file, and renames the file to its final name.
    ///
    /// The caller makes the name durable. The file is removed on failure.
    static func install(
        _ header: SegmentHeader, _ spare: String, _ directory: String,
        _ fileSystem: any FileSystem
    ) throws(IOError) -> OpenSegment {
        do throws(IOError) {
            let file = try fileSystem.open(spare, .readWrite)
            let bytes = try file.size()
            try file.write(header.encoded(), at: 0)
            try file.sync()
            let path = directory + "/" + JournalDirectory.name(of: header.firstPosition)
            try fileSystem.rename(spare, to: path)
            file.renamed(to: path)
            return OpenSegment(
                file, header, end: UInt64(SegmentFormat.headerBytes), capacity: bytes)
        } catch {
            try? fileSystem.remove(spare)
            throw error
        }
    }
}

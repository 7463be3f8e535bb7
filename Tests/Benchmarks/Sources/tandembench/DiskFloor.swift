import Glibc

/// The time of the smallest durable write to the disk, measured between the operations of a
/// benchmark.
///
/// That is a `pwrite` of 256 bytes and an `fdatasync` in a file whose blocks were written before,
/// so that the file system has nothing else to write.
struct DiskFloor: ~Copyable {
    private static let fileBytes = 4 << 20
    private static let recordBytes = 256
    private let descriptor: Int32
    private let record = [UInt8](repeating: 0, count: recordBytes)
    private var at = 0
    private(set) var microseconds: [Double] = []

    /// Prepares the file `disk-floor` in a folder.
    init(folder: String) throws {
        descriptor = open(folder + "/disk-floor", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let zeros = [UInt8](repeating: 0, count: Self.fileBytes)
        guard descriptor >= 0, pwrite(descriptor, zeros, zeros.count, 0) == zeros.count,
            fsync(descriptor) == 0
        else { throw Failure("can't prepare the file `disk-floor` in \(folder): errno \(errno)") }
    }

    deinit { close(descriptor) }

    /// Performs one write, and records its time if `counts` is true.
    mutating func measure(counts: Bool = true) throws {
        let start = now()
        guard pwrite(descriptor, record, record.count, off_t(at)) == record.count,
            fdatasync(descriptor) == 0
        else { throw Failure("the floor's file can't be written: errno \(errno)") }
        if counts { microseconds.append(tandembench.microseconds(from: start, to: now())) }
        at = (at + Self.recordBytes) % Self.fileBytes
    }
}

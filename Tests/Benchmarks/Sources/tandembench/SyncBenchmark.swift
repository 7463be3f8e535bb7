import Glibc

/// Compares ways to make an append durable.
///
/// Each append is made in every way, so that disk noise affects all of them.
///
/// Each way has its own file, whose blocks are zero-filled and synced beforehand, like those of a
/// journal's segment.
struct SyncBenchmark {
    /// A way to write bytes durably.
    enum Way: String, CaseIterable {
        /// `pwrite`, then `fdatasync`.
        case fdatasync
        /// `pwrite` on a descriptor opened with `O_DSYNC`.
        case dsync = "O_DSYNC"
        /// `pwritev2` with `RWF_DSYNC`.
        case flagged = "RWF_DSYNC"
    }

    private static let sizes = [256, 4_096, 65_536]
    private static let rounds = 5
    private static let regionBytes = 8 << 20
    private let folder: String
    private let n: Int

    init(folder: String, n: Int) {
        self.folder = folder
        self.n = n
    }

    /// Prints a line for each size and way; the floor is `pwrite` and `fdatasync` in the same
    /// rounds.
    func run() throws {
        for size in Self.sizes {
            var values: [Way: [Double]] = [:]
            for _ in 0..<Self.rounds { try round(size, &values) }
            for way in Way.allCases {
                ResultLine(
                    scenario: "sync", peer: way.rawValue, n: size, metric: "durable append",
                    values: values[way] ?? [], floor: values[.fdatasync] ?? []
                ).emit()
            }
        }
    }

    private func round(_ size: Int, _ values: inout [Way: [Double]]) throws {
        var files = try Way.allCases.map { try SyncFile($0, folder, Self.regionBytes) }
        let record = [UInt8](repeating: 7, count: size)
        for number in 0..<n {
            // A different way goes first each time.
            for turn in 0..<files.count {
                let index = (number + turn) % files.count
                let start = now()
                try files[index].append(record)
                values[files[index].way, default: []].append(microseconds(from: start, to: now()))
            }
        }
        for file in files { file.close() }
    }
}

/// A zero-filled file and one way to append to it.
private struct SyncFile {
    private typealias WriteFlagged =
        @convention(c) (Int32, UnsafePointer<iovec>?, Int32, off_t, Int32) -> Int
    private static let flagDSync: Int32 = 2
    private static let writeFlagged = dlsym(nil, "pwritev2").map {
        unsafeBitCast($0, to: WriteFlagged.self)
    }

    let way: SyncBenchmark.Way
    private let path: String
    private let bytes: Int
    private let descriptor: Int32
    private var at = 0

    init(_ way: SyncBenchmark.Way, _ folder: String, _ bytes: Int) throws {
        self.way = way
        self.bytes = bytes
        path = "\(folder)/sync-\(way.rawValue)"
        let plain = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        let zeros = [UInt8](repeating: 0, count: bytes)
        guard plain >= 0, pwrite(plain, zeros, bytes, 0) == bytes, fsync(plain) == 0 else {
            throw Failure("\(path) can't be prepared: errno \(errno)")
        }
        guard way == .dsync else {
            descriptor = plain
            return
        }
        Glibc.close(plain)
        descriptor = open(path, O_RDWR | O_DSYNC | O_CLOEXEC)
        guard descriptor >= 0 else { throw Failure("\(path) can't be opened: errno \(errno)") }
    }

    mutating func append(_ record: [UInt8]) throws {
        if at + record.count > bytes { at = 0 }
        let written = record.withUnsafeBytes { write($0) }
        guard written == record.count, way != .fdatasync || Glibc.fdatasync(descriptor) == 0 else {
            throw Failure("\(path) can't be written: errno \(errno)")
        }
        at += record.count
    }

    private func write(_ record: UnsafeRawBufferPointer) -> Int {
        guard way == .flagged else {
            return pwrite(descriptor, record.baseAddress, record.count, off_t(at))
        }
        let base = UnsafeMutableRawPointer(mutating: record.baseAddress)
        var vector = iovec(iov_base: base, iov_len: record.count)
        return Self.writeFlagged?(descriptor, &vector, 1, off_t(at), Self.flagDSync) ?? -1
    }

    func close() {
        Glibc.close(descriptor)
        unlink(path)
    }
}

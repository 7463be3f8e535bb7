import CLMDB
import Glibc
import TandemIO

/// Maintenance of an environment: its readers, and copies of it.
extension LMDBEnvironment {
    /// Frees the reader slots of dead processes, and returns their number.
    @discardableResult
    func checkReaders() throws(StoreError) -> Int {
        var dead: Int32 = 0
        try check(mdb_reader_check(environment, &dead), "check the readers of")
        return Int(dead)
    }

    /// The open read transactions of all processes.
    var readers: StoreReaders {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        let list = ReaderList()
        mdb_reader_list(
            environment,
            { line, context in
                guard let line, let context else { return 0 }
                Unmanaged<ReaderList>.fromOpaque(context).takeUnretainedValue()
                    .parse(String(cString: line))
                return 0
            }, Unmanaged.passUnretained(list).toOpaque())
        return list.readers(last: UInt64(info.me_last_txnid))
    }

    /// Writes a compact copy of the last commit to a new file; durable on return.
    ///
    /// The file must not exist. The copy is made in a read transaction, so writers are not blocked.
    /// Calls `progress` with the number of bytes written.
    func copy(
        to file: String, _ progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(StoreError) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError("copy to \(file)", path, errno) }
        defer { _ = Glibc.close(descriptor) }
        try check(try compactCopy(to: descriptor, progress), "copy")
        guard fsync(descriptor) == 0 else {
            throw StoreError("flush \(file), a copy of", path, errno)
        }
    }
}

/// Copies with progress reports.
extension LMDBEnvironment {
    /// The interval between progress reports.
    private static let milliseconds: Int32 = 100

    /// Copies on a separate thread while polling the length of the file.
    ///
    /// LMDB itself reports no progress.
    private func compactCopy(
        to descriptor: Int32, _ progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(StoreError) -> Int32 {
        let total = try copiedBytes()
        // Sending the address to another thread is safe: that thread is joined before this method
        // returns, and the environment stays open until then.
        let address = UInt(bitPattern: environment)
        do {
            let (mine, its) = try Socket.pair()
            let thread = try KernelThread.start(name: "copy") {
                var code = mdb_env_copyfd2(
                    OpaquePointer(bitPattern: address), descriptor, UInt32(MDB_CP_COMPACT))
                withExtendedLifetime(its) {
                    _ = Glibc.write(its.descriptor, &code, MemoryLayout<Int32>.size)
                }
            }
            defer { thread.join() }
            return withExtendedLifetime(mine) {
                Self.result(mine.descriptor) { progress(Self.bytes(of: descriptor), total) }
            }
        } catch {
            throw StoreError(.failed, "cannot copy \(path): \(error)")
        }
    }

    /// Waits for the result code that another thread writes to a socket.
    ///
    /// Calls `look` at each interval, and once more at the end.
    private static func result(_ descriptor: Int32, _ look: () -> Void) -> Int32 {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&waiting, 1, milliseconds) <= 0 { look() }
        var code: Int32 = 0
        _ = Glibc.read(descriptor, &code, MemoryLayout<Int32>.size)
        look()
        return code
    }

    private static func bytes(of descriptor: Int32) -> UInt64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? UInt64(clamping: status.st_size) : 0
    }

    /// Returns the size of a compact copy of the last commit: all pages except the free ones.
    private func copiedBytes() throws(StoreError) -> UInt64 {
        let reading = try begin(readOnly: true)
        defer { reading.abort() }
        var status = MDB_stat()
        mdb_env_stat(environment, &status)
        let free = try reading.freePages() * Int(status.ms_psize)
        return UInt64(max(1, usage.usedBytes - free))
    }
}

/// The current readers of a store in all processes.
package struct StoreReaders: Hashable, Sendable {
    /// The number of open read transactions.
    package var count: Int
    /// The id of the last commit.
    package var lastCommit: UInt64
    /// The id of the oldest commit that a reader sees.
    ///
    /// Pages freed after it can't be reused while that reader exists.
    package var oldestCommit: UInt64
}

/// A parser of LMDB's list of readers: lines with process, thread and transaction, `-` for none.
private final class ReaderList {
    private var transactions: [UInt64] = []

    func parse(_ line: String) {
        let words = line.split { $0 == " " || $0 == "\n" }
        guard words.count == 3, let transaction = UInt64(words[2]) else { return }
        transactions.append(transaction)
    }

    func readers(last: UInt64) -> StoreReaders {
        StoreReaders(
            count: transactions.count, lastCommit: last,
            oldestCommit: min(last, transactions.min() ?? last))
    }
}

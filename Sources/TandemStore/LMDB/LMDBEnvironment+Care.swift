import CLMDB
import Glibc
import TandemIO

/// Looking after an environment: its readers, and copies of it.
extension LMDBEnvironment {
    /// Frees the slots of readers that died; returns how many there were.
    @discardableResult
    func checkReaders() throws(StoreError) -> Int {
        var dead: Int32 = 0
        try check(mdb_reader_check(environment, &dead), "check the readers of")
        return Int(dead)
    }

    /// The readers of all processes.
    var readers: StoreReaders {
        var info = MDB_envinfo()
        mdb_env_info(environment, &info)
        let list = ReaderList()
        mdb_reader_list(
            environment,
            { line, context in
                guard let line, let context else { return 0 }
                Unmanaged<ReaderList>.fromOpaque(context).takeUnretainedValue()
                    .note(String(cString: line))
                return 0
            }, Unmanaged.passUnretained(list).toOpaque())
        return list.readers(last: UInt64(info.me_last_txnid))
    }

    /// Writes a compact copy of the last commit to a file that must not exist; durable on return.
    ///
    /// Takes a read transaction for as long as it lasts, and never the writer's lock. `progress` hears of how many bytes are written.
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

/// A copy that somebody watches.
extension LMDBEnvironment {
    /// How often it is looked how far a copy has come.
    private static let milliseconds: Int32 = 100

    /// Lets LMDB copy on a thread of its own, as it says nothing on the way, and looks meanwhile how long the file is.
    private func compactCopy(
        to descriptor: Int32, _ progress: (_ done: UInt64, _ total: UInt64) -> Void
    ) throws(StoreError) -> Int32 {
        let total = try copiedBytes()
        // An address may go to another thread; it is joined before this returns, and the environment is open so long.
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
            throw StoreError(.failed, "can't copy \(path): \(error)")
        }
    }

    /// Waits for a number to come from another thread, and calls `look` now and then until it does, and once then.
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

    /// How long a compact copy of the last commit will be: all pages but the free ones.
    private func copiedBytes() throws(StoreError) -> UInt64 {
        let reading = try begin(readOnly: true)
        defer { reading.abort() }
        var status = MDB_stat()
        mdb_env_stat(environment, &status)
        let free = try reading.freePages() * Int(status.ms_psize)
        return UInt64(max(1, usage.usedBytes - free))
    }
}

/// Who reads a store at the moment, in any process.
public struct StoreReaders: Hashable, Sendable {
    /// How many read transactions are open.
    public var count: Int
    /// The number of the last commit.
    public var lastCommit: UInt64
    /// The number of the commit that the oldest sees; pages of that time can't be used again.
    public var oldestCommit: UInt64
}

/// Takes in LMDB's list of readers: lines of process, thread and transaction, `-` for none.
private final class ReaderList {
    private var transactions: [UInt64] = []

    func note(_ line: String) {
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

import CLMDB
import Glibc

/// Looking after an environment: its readers, and copies of it.
extension LMDBEnvironment {
    /// Frees the slots of readers that died; returns how many there were.
    @discardableResult
    func checkReaders() throws(StoreError) -> Int {
        var dead: Int32 = 0
        try check(mdb_reader_check(environment, &dead), "check the readers of")
        return Int(dead)
    }

    /// The readers of all processes: how many, and by how many commits the oldest lags behind.
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
    /// Takes a read transaction for as long as it lasts, and never the writer's lock.
    func copy(to file: String) throws(StoreError) {
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError("copy to \(file)", path, errno) }
        defer { _ = Glibc.close(descriptor) }
        try check(mdb_env_copyfd2(environment, descriptor, UInt32(MDB_CP_COMPACT)), "copy")
        guard fsync(descriptor) == 0 else {
            throw StoreError("flush \(file), a copy of", path, errno)
        }
    }
}

/// Who reads a store at the moment, in any process.
public struct StoreReaders: Hashable, Sendable {
    /// How many read transactions are open.
    public var count: Int
    /// How many commits the oldest lags behind; pages of that time can't be used again.
    public var oldestLag: UInt64
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
        let oldest = transactions.min() ?? last
        return StoreReaders(
            count: transactions.count, oldestLag: last - min(last, oldest))
    }
}

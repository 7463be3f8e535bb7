import CLMDBFloor
import CSQLiteFloor
import Glibc

/// The requests of P8 to LMDB and SQLite, where several processes read one file without a server.
struct PeerReaders {
    /// The library that reads.
    enum Peer: String, CaseIterable {
        case lmdb
        case sqlite
    }

    let folder: String
    let n: Int

    func run() throws {
        try LMDBRows.write(folder, n)
        try SQLiteRows.write(folder, n)
        for peer in Peer.allCases {
            for question in ReadersBenchmark.Question.allCases {
                for readers in ReadersBenchmark.readers { try measure(peer, question, readers) }
            }
        }
    }

    private func measure(
        _ peer: Peer, _ question: ReadersBenchmark.Question, _ readers: Int
    ) throws {
        let seconds = ReadersBenchmark.seconds
        let processes = try (0..<readers).map { _ in
            try BenchProcess([
                "p8-peer", "\(n)", "-", folder, peer.rawValue, question.rawValue, "\(seconds)",
            ])
        }
        for process in processes { _ = try process.read(1, UInt64(0)) }
        for process in processes { process.closeInput() }
        let (times, rows) = try ReadersBenchmark.results(of: processes)
        ResultLine(
            scenario: "p8", peer: peer.rawValue, n: n, metric: question.rawValue, values: times,
            notes: [
                ("readers", "\(readers)"), ("saver", "false"),
                ("rows_per_second", "\(Int(rows / seconds))"),
            ], durability: nil
        ).emit()
    }

    /// Sends requests in a closed loop.
    @MainActor func read(
        _ peer: Peer, _ question: ReadersBenchmark.Question, seconds: Double
    ) throws {
        let ask: () throws -> Int
        switch peer {
        case .lmdb:
            let rows = try LMDBRows(folder, n)
            ask = { try rows.ask(question) }
        case .sqlite:
            let rows = try SQLiteRows(folder, n)
            ask = { try rows.ask(question) }
        }
        var count: UInt64 = 0
        let times = try ReadersBenchmark.loop(seconds) {
            guard try ask() == n / 10 else { throw Failure("\(peer) gives another number") }
            count += UInt64(question == .count ? n : n / 10)
        }
        try send([UInt64(times.count), count])
        try send(times)
    }
}

/// Rows of four numbers and a name, and an index of one of the numbers, in LMDB.
private final class LMDBRows {
    private let environment: OpaquePointer
    private var (rows, index): (MDB_dbi, MDB_dbi) = (0, 0)
    private let n: Int

    init(_ folder: String, _ n: Int, writes: Bool = false) throws {
        self.n = n
        var handle: OpaquePointer?
        mdb_env_create(&handle)
        guard let handle else { throw Failure("no environment") }
        environment = handle
        mdb_env_set_maxdbs(handle, 2)
        mdb_env_set_mapsize(handle, 1 << 34)
        mkdir(folder + "/lmdb", 0o700)
        try check(mdb_env_open(handle, folder + "/lmdb", UInt32(MDB_NOSYNC), 0o600))
        try transaction(writes: writes) { transaction in
            let flags = UInt32(writes ? MDB_CREATE : 0)
            try check(mdb_dbi_open(transaction, "rows", flags, &rows))
            try check(mdb_dbi_open(transaction, "rank", flags, &index))
        }
    }

    deinit { mdb_env_close(environment) }

    static func write(_ folder: String, _ n: Int) throws {
        let store = try LMDBRows(folder, n, writes: true)
        try store.transaction(writes: true) { transaction in
            for number in 0..<n {
                var row = numbers([number, number % 100, number, number])
                row += Array("measured \(number)".utf8)
                try store.put(transaction, store.rows, bigEndian(number), row)
                try store.put(
                    transaction, store.index, bigEndian(number % 100) + bigEndian(number), [])
            }
        }
    }

    private static func bigEndian(_ number: Int) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }

    private static func numbers(_ numbers: [Int]) -> [UInt8] {
        numbers.flatMap { withUnsafeBytes(of: $0, Array.init) }
    }

    private func put(
        _ transaction: OpaquePointer?, _ table: MDB_dbi, _ key: [UInt8], _ value: [UInt8]
    ) throws {
        var (key, value) = (key, value)
        try key.withUnsafeMutableBytes { key in
            try value.withUnsafeMutableBytes { value in
                var (k, v) = (
                    MDB_val(mv_size: key.count, mv_data: key.baseAddress),
                    MDB_val(mv_size: value.count, mv_data: value.baseAddress)
                )
                try check(mdb_put(transaction, table, &k, &v, 0))
            }
        }
    }

    func ask(_ question: ReadersBenchmark.Question) throws -> Int {
        var found: [UInt64] = []
        var count = 0
        try transaction(writes: false) { transaction in
            switch question {
            case .byIndex:
                try scan(transaction, index, from: Self.bigEndian(90)) { key, _ in
                    found.append(
                        UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
                }
            case .byScan, .count:
                let least = n - n / 10
                try scan(transaction, rows, from: Self.bigEndian(0)) { key, value in
                    guard value.loadUnaligned(fromByteOffset: 24, as: Int.self) >= least else {
                        return
                    }
                    count += 1
                    guard question == .byScan else { return }
                    found.append(UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
                }
            }
        }
        guard question != .count else { return count }
        found.sort()
        return found.count
    }

    private func scan(
        _ transaction: OpaquePointer?, _ table: MDB_dbi, from start: [UInt8],
        _ body: (UnsafeRawPointer, UnsafeRawPointer) -> Void
    ) throws {
        var cursor: OpaquePointer?
        try check(mdb_cursor_open(transaction, table, &cursor))
        defer { mdb_cursor_close(cursor) }
        var start = start
        start.withUnsafeMutableBytes { start in
            var key = MDB_val(mv_size: start.count, mv_data: start.baseAddress)
            var value = MDB_val()
            var status = mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
            while status == 0, let place = key.mv_data, let row = value.mv_data {
                body(place, row)
                status = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
        }
    }

    private func transaction(
        writes: Bool, _ body: (OpaquePointer?) throws -> Void
    ) throws {
        var transaction: OpaquePointer?
        try check(
            mdb_txn_begin(environment, nil, UInt32(writes ? 0 : MDB_RDONLY), &transaction))
        try body(transaction)
        try check(mdb_txn_commit(transaction))
    }

    private func check(_ status: Int32) throws {
        guard status == 0 else { throw Failure("LMDB: \(String(cString: mdb_strerror(status)))") }
    }
}

/// The same rows in SQLite with a write-ahead log.
private final class SQLiteRows {
    private let database: OpaquePointer
    private let n: Int

    init(_ folder: String, _ n: Int) throws {
        self.n = n
        var handle: OpaquePointer?
        guard sqlite3_open(folder + "/rows.sqlite", &handle) == SQLITE_OK, let handle else {
            throw Failure("SQLite can't open its file")
        }
        database = handle
    }

    deinit { sqlite3_close(database) }

    static func write(_ folder: String, _ n: Int) throws {
        let rows = try SQLiteRows(folder, n)
        try rows.run("PRAGMA journal_mode = WAL")
        try rows.run(
            "CREATE TABLE measured (id INTEGER PRIMARY KEY, serial INTEGER NOT NULL, name TEXT NOT NULL, "
                + "rank INTEGER NOT NULL, score INTEGER NOT NULL, plain INTEGER NOT NULL)")
        try rows.run(
            "INSERT INTO measured SELECT value, value, 'measured ' || value, value % 100, value, value "
                + "FROM (WITH RECURSIVE numbers(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM numbers "
                + "WHERE value < \(n - 1)) SELECT value FROM numbers)")
        try rows.run("CREATE INDEX by_rank ON measured (rank)")
    }

    private func run(_ text: String) throws {
        guard sqlite3_exec(database, text, nil, nil, nil) == SQLITE_OK else {
            throw Failure("SQLite: \(String(cString: sqlite3_errmsg(database)))")
        }
    }

    func ask(_ question: ReadersBenchmark.Question) throws -> Int {
        let text =
            switch question {
            case .byIndex: "SELECT id FROM measured WHERE rank >= 90 ORDER BY id"
            case .byScan: "SELECT id FROM measured WHERE plain >= \(n - n / 10) ORDER BY id"
            case .count: "SELECT count(*) FROM measured WHERE plain >= \(n - n / 10)"
            }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK else {
            throw Failure("SQLite: \(String(cString: sqlite3_errmsg(database)))")
        }
        defer { sqlite3_finalize(statement) }
        var found: [Int64] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            found.append(sqlite3_column_int64(statement, 0))
        }
        return question == .count ? Int(found.first ?? 0) : found.count
    }
}

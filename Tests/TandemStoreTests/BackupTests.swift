import FoundationEssentials
import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Backups of a store: made while others write, refused if damaged, and restored completely or not
/// at all.
@Suite(.ownThread) struct BackupTests {
    let scratch: Scratch
    let files = RealFileSystem()
    var backup: String { scratch.path + "/backup" }
    var restored: String { scratch.path + "/restored" }

    init() throws { scratch = try Scratch() }

    /// Makes a backup with an invented journal of one segment.
    @discardableResult
    private func make(_ bench: StoreBench) throws -> BackupManifest {
        try StoreBackup.make(of: bench.store, at: backup) { after, folder in
            let file = try files.open(folder + "/0000000000000001.journal", .createNew)
            try file.write(Array("segment".utf8), at: 0)
            try file.sync()
            return after
        }
    }

    private func dumpOf(_ directory: String) throws -> [String] {
        let store = try Store.openForReading(path: directory + "/store", isPrivate: true)
        defer { store.close() }
        return try dump(store)
    }

    @Test func `the reported progress of backup and restore rises to the total`() throws {
        let bench = try StoreBench.league(200, seed: seed)
        var steps: [(done: UInt64, total: UInt64)] = []
        var phases: [(phase: StoreBackup.Phase, done: UInt64, total: UInt64)] = []
        let manifest = try StoreBackup.make(
            of: bench.store, at: backup, progress: { phases.append(($0, $1, $2)) }
        ) { after, folder in
            let file = try files.open(folder + "/0000000000000001.journal", .createNew)
            try file.write(Array("segment".utf8), at: 0)
            return after
        }
        for phase in StoreBackup.Phase.allCases {
            let steps = phases.filter { $0.phase == phase }
            #expect(steps.map(\.done) == steps.map(\.done).sorted(), "\(phase)")
            #expect(steps.last.map { $0.done == $0.total } == true, "\(phase) \(steps)")
        }
        let order = phases.map(\.phase).reduce(into: [StoreBackup.Phase]()) {
            if $0.last != $1 { $0.append($1) }
        }
        #expect(order == StoreBackup.Phase.allCases)
        let copy = manifest.files.first { $0.name == "store/data.mdb" }
        #expect(phases.last { $0.phase == .copying }?.done == copy?.bytes)
        #expect(phases.last?.done == manifest.bytes)
        #expect(phases.filter { $0.phase == .checking }.count > 2)
        try StoreRestore.run(backup, to: restored, progress: { steps.append(($0, $1)) }) { _, _ in }
        #expect(steps.map(\.done) == steps.map(\.done).sorted())
        #expect(steps.last.map { $0.done == $0.total && $0.done == 3 * manifest.bytes } == true)
    }

    @Test func `a backup has the last checkpoint while writes continue`() throws {
        let bench = try StoreBench.league(200, seed: seed)
        let kept = try dump(bench.store)
        let position = bench.store.appliedPosition
        // The open write transaction does not block the copy, and is not part of it.
        _ = try bench.store.leaseNumbers(10_000)
        try bench.apply(Transaction(content: .objects([try bench.insert("Tag", 9_000, [:])])))
        let manifest = try make(bench)
        #expect(manifest.position == position && manifest.last == position)
        #expect(try dumpOf(backup) == kept)
        #expect(try StoreBackup.verify(backup) == manifest)
        #expect(try files.list(scratch.path) == ["backup"])
        try StoreRestore.run(backup, to: restored) { _, _ in }
        #expect(try dumpOf(restored) == kept)
    }

    @Test func `a copy that the journal no longer reaches back to is repeated, with a limit`()
        throws
    {
        let bench = try StoreBench.league(20, seed: seed)
        let first = bench.store.appliedPosition
        var asked: [UInt64] = []
        let manifest = try StoreBackup.make(of: bench.store, at: backup) { after, folder in
            asked.append(after)
            let name = folder + "/\(after).journal"
            try files.open(name, .createNew).close()
            guard asked.count < 3 else { return after }
            // Meanwhile the daemon saves and trims.
            let number = UInt64(9_000 + asked.count)
            try bench.apply(Transaction(content: .objects([try bench.insert("Tag", number, [:])])))
            try bench.store.checkpoint()
            return nil
        }
        #expect(asked == [first, first + 1, first + 2])
        #expect(manifest.position == first + 2)
        #expect(manifest.files.map(\.name) == ["journal/\(first + 2).journal", "store/data.mdb"])
        var attempts = 0
        let error = #expect(throws: StoreError.self) {
            try StoreBackup.make(of: bench.store, at: restored) { _, _ in
                attempts += 1
                return nil
            }
        }
        #expect(error?.message.contains("journal.keepBytes") == true)
        #expect(attempts == StoreBackup.attempts)
        #expect(try files.list(scratch.path) == ["backup"])
    }

    @Test func `restore raises the epoch before any file has the store's name`() throws {
        let bench = try StoreBench.league(20, seed: seed)
        try make(bench)
        var seen: [String] = []
        try StoreRestore.run(backup, to: restored) { journal, _ in
            seen = try files.list(journal)
            #expect(!files.exists(restored))
        }
        #expect(seen == ["0000000000000001.journal"])
        struct Refused: Error {}
        let other = scratch.path + "/other"
        #expect(throws: Refused.self) {
            try StoreRestore.run(backup, to: other) { _, _ in throw Refused() }
        }
        #expect(try files.list(scratch.path) == ["backup", "restored"])
    }

    @Test func `a restore goes into an empty or absent directory only`() throws {
        let bench = try StoreBench.league(20, seed: seed)
        try make(bench)
        try files.createDirectory(restored, mode: 0o700)
        try StoreRestore.run(backup, to: restored) { _, _ in }
        let error = #expect(throws: StoreError.self) {
            try StoreRestore.run(backup, to: restored) { _, _ in }
        }
        #expect(error?.message.contains("is not empty") == true)
        let twice = #expect(throws: StoreError.self) { try make(bench) }
        #expect(twice?.message.contains("exists") == true)
    }

    @Test func `a flipped bit or a truncation anywhere in a backup is refused by name`() throws {
        let bench = try StoreBench.league(60, seed: seed)
        try make(bench)
        var random = SplitMix64(seed: seed)
        let names = ["manifest.json", "store/data.mdb", "journal/0000000000000001.journal"]
        for name in names {
            let path = backup + "/" + name
            let whole = try readFile(path)
            let places =
                name == "manifest.json"
                ? Array(0..<whole.count - 1)
                : (0..<40).map { _ in Int.random(in: 0..<whole.count, using: &random) }
            for place in places {
                var bytes = whole
                bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                try write(bytes, path)
                try expectRefusal(path)
            }
            try write(Array(whole.dropLast(whole.count / 3)), path)
            try expectRefusal(path)
            try files.remove(path)
            try expectRefusal(name == "manifest.json" ? backup : path)
            try write(whole, path)
        }
        _ = try StoreBackup.verify(backup)
    }

    private func write(_ bytes: [UInt8], _ path: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    private func expectRefusal(_ path: String) throws {
        let error = #expect(throws: StoreError.self) {
            try StoreRestore.run(backup, to: restored) { _, _ in }
        }
        #expect(error?.message.contains(path) == true, "\(String(describing: error))")
        #expect(!files.exists(restored))
    }

    @Test
    func
        `leftovers of a killed backup or restore have temporary names, and the next one removes them`()
        throws
    {
        let bench = try StoreBench.league(20, seed: seed)
        for leftover in [backup + StoreBackup.suffix, restored + StoreRestore.suffix] {
            try files.createDirectory(leftover + "/store", mode: 0o700)
            try write([1, 2, 3], leftover + "/store/data.mdb")
        }
        let none = #expect(throws: StoreError.self) {
            try StoreRestore.run(backup + StoreBackup.suffix, to: restored) { _, _ in }
        }
        #expect(none?.message.contains("there is no backup in") == true)
        try make(bench)
        try StoreRestore.run(backup, to: restored) { _, _ in }
        #expect(try files.list(scratch.path) == ["backup", "restored"])
    }

    @Test func `a store with faults is not backed up`() throws {
        let bench = try StoreBench.league(20, seed: seed)
        try bench.put(.links, [1, 2, 3], [0, 1])
        let error = #expect(throws: StoreError.self) { try make(bench) }
        #expect(error?.message.contains("tandem check") == true)
        #expect(try files.list(scratch.path) == [])
    }
}

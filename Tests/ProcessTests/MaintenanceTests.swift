import Dispatch
import Foundation
import Tandem
import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import Testing

/// `tandem check`, `dump`, `rebuild`, `backup` and `restore` as run from a shell, on a real
/// daemon's directory.
@Suite(.ownThread, .serialized) struct MaintenanceTests {
    let place: Place
    let files = RealFileSystem()
    var backup: String { place.path + "/backup" }
    var restored: String { place.path + "/restored" }

    init() throws { place = try Place() }

    /// Runs `body` while a client saves as fast as it can, then ends the daemon.
    private func saving(on daemon: DaemonProcess, _ body: () throws -> Void = {}) throws {
        let saver = Saver("stream", place)
        let acknowledged = DispatchSemaphore(value: 0)
        let thread = try KernelThread.start(name: "saver") { saver.run(acknowledged) }
        for _ in 0..<20 { acknowledged.wait() }
        let result = Result { try body() }
        #expect(daemon.end(SIGTERM) == 0)
        thread.join()
        try result.get()
        #expect(saver.answered.count >= 20)
    }

    /// Creates a store with some notes, without a daemon.
    private func fill() throws {
        try saving(on: try place.serve())
    }

    @Test func `check finds nothing while a daemon runs, and damage is repaired offline`() throws {
        try fill()
        let daemon = try place.serve()
        expect(try runTandem("check", "-D", place.store), 0, "no faults")
        expect(try runTandem("check", "--repair", "--yes", "-D", place.store), 1, "held by process")
        #expect(daemon.end(SIGTERM) == 0)
        let before = try runTandem("dump", "-D", place.store)
        let number: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        try alter { try $0.repair([.delete(.numbers, key: number)]) }
        expect(try runTandem("check", "-D", place.store), 1, "unnotedNumber: Note/1: ", "--repair")
        let json = try runTandem("check", "-D", place.store, "-o", "json").json
        #expect(json.first?["kind"]?.string == "unnotedNumber")
        expect(
            try runTandem("check", "--repair", "--dry-run", "-D", place.store), 1,
            "would put numbers 0000000000000001", "nothing was changed")
        expect(try runTandem("check", "-D", place.store), 1, "1 fault")
        expect(try runTandem("check", "--repair", "--yes", "-D", place.store), 0, "changed 1 key")
        expect(try runTandem("check", "-D", place.store), 0, "no faults")
        #expect(try runTandem("dump", "-D", place.store).output == before.output)
        expect(try runTandem("check", "--yes", "-D", place.store), 2, "--repair")
        expect(try runTandem("check", "-D", place.path), 1, "there is no store in")
        for verb in ["check", "dump", "verify", "disk-usage", "log", "blame"] {
            let named = verb == "blame" ? ["Note/1"] : []
            let missing = place.path + "/none"
            expect(
                try CommandRun("tandem", [verb] + named + ["-D", missing]), 1,
                "there is no directory \(missing)")
        }
    }

    private func alter(_ body: (Store) throws -> Void) throws {
        let store = try Store.open(
            path: place.store + "/store",
            newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        defer { store.close() }
        try body(store)
    }

    @Test func `law 6: a lost store is refused by the daemon and rebuilt from the journal`() throws
    {
        try fill()
        let before = try runTandem("dump", "--hash", "-D", place.store)
        try files.removeTree(place.store + "/store")
        let refused = try CommandRun(
            "tandemd", ["--store", place.store, "--socket", place.socket])
        expect(refused, 78, "data.mdb", "tandem rebuild")
        expect(try runTandem("check", "-D", place.store), 1, "tandem rebuild")
        expect(try runTandem("rebuild", "-D", place.store), 0, "rebuilt", "no faults")
        #expect(try runTandem("dump", "--hash", "-D", place.store).output == before.output)
        let daemon = try place.serve()
        expect(try runTandem("rebuild", "-D", place.store), 1, "held by process", "stop the daemon")
        let count = try runTandem("count", "Note", "--socket", place.socket)
        #expect((Int(count.output.dropLast()) ?? 0) >= 20)
        #expect(daemon.end(SIGTERM) == 0)
        #expect(try Journaled(place).storeDump() == Journaled(place).replayedDump())
    }

    @Test func `a rebuild is refused if the journal lost transactions that the store has`() throws {
        try fill()
        let names = try files.list(place.store + "/journal").filter { $0.hasSuffix(".journal") }
        let path = place.store + "/journal/" + (try #require(names.last))
        let reader = JournalReader(
            directory: place.store + "/journal", fileSystem: files, from: 1)
        while try reader.next() != nil {}
        let end = try #require(reader.end).offset
        let file = try files.open(path, .readWrite)
        try file.write([UInt8](repeating: 0, count: 2_000), at: end - 2_000)
        file.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: place.store + "/store/data.mdb"))
        expect(try runTandem("rebuild", "-D", place.store), 1, "but the store is at position")
        let after = try Data(contentsOf: URL(fileURLWithPath: place.store + "/store/data.mdb"))
        #expect(before == after)
        expect(try runTandem("rebuild", "-D", place.path), 1, "there is no journal in")
    }

    @Test func `law 6: a backup during a stream of saves equals the store at its position`() throws
    {
        let daemon = try place.serve()
        var run: CommandRun?
        try saving(on: daemon) { run = try runTandem("backup", backup, "-D", place.store) }
        expect(try #require(run), 0, "backed up")
        let manifest = try StoreBackup.verify(backup)
        let end = try Journaled(place)
        #expect(manifest.position > 0 && manifest.last <= UInt64(end.transactions.count))
        expect(try runTandem("restore", backup, "--store", restored), 0, "restored")
        #expect(
            try runTandem("dump", "--hash", "-D", restored).output
                == "\(manifest.position) \(manifest.stateHash)\n")
        // The daemon applies the tail; then the store equals the live journal applied up to that
        // position.
        let second = try place.serve(restored)
        #expect(second.end(SIGTERM) == 0)
        let expected = try Self.dump(of: end.encoded.prefix(Int(manifest.last)), in: place)
        #expect(try runTandem("dump", "-D", restored).lines == expected)
        expect(try runTandem("check", "-D", restored), 0, "no faults")
        expect(try runTandem("restore", backup, "--store", restored), 1, "is not empty")
        expect(try runTandem("backup", backup, "-D", place.store), 1, "exists")
    }

    /// An update to a small number ends in zeros, like the free space after it.
    @Test @MainActor func `law 3: a backup has the last save, even if that ends in zeros`() throws {
        var daemon = try place.serve()
        let model = ManagedObjectModel {
            Entity("Page") { Attribute("number", .int, default: .int(0)) }
        }
        func save(_ edit: (ManagedObjectContext) throws -> Void) throws -> Position {
            let container = PersistentContainer(
                model: model, socket: place.socket, author: "pages")
            let context = container.makeContext(name: "main")
            try edit(context)
            return try context.save()
        }
        _ = try save { _ = try $0.insert("Page") }
        #expect(daemon.end(SIGTERM) == 0)
        let checkpoint = URL(fileURLWithPath: place.store + "/store/data.mdb")
        let behind = try Data(contentsOf: checkpoint)
        daemon = try place.serve()
        let last = try save { context in
            let page = try #require(try context.fetch(FetchRequest(entity: "Page")).first)
            page["number"] = .int(1)
        }
        #expect(daemon.end(SIGTERM) == 0)
        let dump = try runTandem("dump", "-D", place.store).output
        // Until the next checkpoint, the save is in the journal only.
        try behind.write(to: checkpoint)
        expect(
            try runTandem("backup", backup, "-D", place.store), 0,
            "journal to position \(last.number)"
        )
        #expect(try StoreBackup.verify(backup).last == last.number)
        expect(try runTandem("restore", backup, "--store", restored), 0)
        #expect(try place.serve(restored).end(SIGTERM) == 0)
        #expect(try runTandem("dump", "-D", restored).output == dump)
    }

    private static func dump(
        of transactions: some Sequence<EncodedTransaction>, in place: Place
    ) throws -> [String] {
        let path = place.path + "/expected"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let store = try Store.open(
            path: path, newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        defer { store.close() }
        for transaction in transactions { try store.apply(transaction) }
        var lines: [String] = []
        try store.dump { lines.append($0) }
        return lines
    }

    @Test @MainActor func `law 2: a position from before a restore belongs to an expired history`()
        throws
    {
        try fill()
        let daemon = try place.serve()
        let end = try runTandem("wait", "1", "--socket", place.socket)
        expect(end, 0)
        let old = end.output.trimmingCharacters(in: .newlines)
        expect(try runTandem("wait", old, "--socket", place.socket), 0)
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        #expect(daemon.end(SIGTERM) == 0)
        expect(try runTandem("restore", backup, "--store", restored), 0)
        let second = try place.serve(restored)
        expect(try runTandem("wait", old, "--socket", place.socket), 5, "another log or epoch")
        let position: Position = try #require(Position(old))
        let resumed = try WireClient(
            place.socket,
            Hello(author: "old", model: killModel.json.text, resume: position))
        #expect(!resumed.welcome.resumed)
        #expect(resumed.welcome.epoch == 2)
        resumed.close()
        #expect(second.end(SIGTERM) == 0)
        expect(try runTandem("check", "-D", restored), 0, "no faults")
    }

    @Test func `a damaged backup is refused by name`() throws {
        try fill()
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        let journal = try #require(try files.list(backup + "/journal").first)
        for name in ["store/data.mdb", "journal/\(journal)", "manifest.json"] {
            let path = backup + "/" + name
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            var flipped = whole
            flipped[whole.count / 2] ^= 4
            for damaged in [flipped, whole.dropLast(whole.count / 2)] {
                try damaged.write(to: URL(fileURLWithPath: path))
                expect(try runTandem("restore", backup, "--store", restored), 1, path)
                #expect(!files.exists(restored))
            }
            try whole.write(to: URL(fileURLWithPath: path))
        }
        expect(try runTandem("restore", backup, "--store", restored), 0)
    }

    @Test func `law 3: a kill during backup or restore leaves nothing that looks complete`() throws
    {
        try fill()
        let unfinished = backup + ".unfinished"
        for stage in ["", "/store/data.mdb", "/journal", "/manifest.json"] {
            try kill(["backup", backup, "-D", place.store], when: unfinished + stage)
            if files.exists(backup) {
                _ = try StoreBackup.verify(backup)
                try files.removeTree(backup)
            }
        }
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        #expect(!files.exists(unfinished))
        let restoring = restored + ".restoring"
        for stage in ["", "/store/data.mdb", "/journal", "/journal/lock", "/journal/spare.new"] {
            try kill(["restore", backup, "--store", restored], when: restoring + stage)
            guard files.exists(restored) else { continue }
            expect(try runTandem("check", "-D", restored), 0)
            try files.removeTree(restored)
        }
        expect(try runTandem("restore", backup, "--store", restored), 0)
        #expect(!files.exists(restoring))
        let daemon = try place.serve(restored)
        #expect(daemon.end(SIGTERM) == 0)
    }

    /// Starts `tandem` and kills it as soon as a path exists.
    private func kill(_ arguments: [String], when path: String) throws {
        let child = try ChildProcess.start(
            DaemonProcess.products + "/tandem", arguments, output: .null)
        while !files.exists(path), child.status == nil {}
        child.kill()
        child.wait()
    }

    @Test @MainActor func `law 7: the read transactions of killed processes are freed for reads`()
        throws
    {
        let daemon = try place.serve(options: ["--set", "limits.storeReaders=2"])
        let model = ManagedObjectModel { Entity("Page") { Attribute("text", .string) } }
        let container = PersistentContainer(model: model, socket: place.socket, author: "pages")
        defer { container.close() }
        let context = container.makeContext(name: "main")
        for _ in 0..<400 {
            try context.insert("Page")["text"] = .string(String(repeating: "x", count: 1_000))
        }
        let position = try context.save()
        func status() throws -> JSON { try JSON(parsing: try container.status()) }
        while try status()["checkpoint"]?.int ?? 0 < Int64(position.number) {}
        // Each dump waits for its full pipe, in its read transaction.
        let dumps = try (0..<2).map { _ in
            let dump = try ChildProcess.start(
                DaemonProcess.products + "/tandem", ["dump", "-D", place.store], output: .pipe)
            let output = FileHandle(
                fileDescriptor: try #require(dump.output), closeOnDealloc: false)
            #expect(try output.read(upToCount: 1)?.count == 1)
            return dump
        }
        #expect(try status()["storeReaders"]?.int == 2)
        for dump in dumps { dump.kill() }
        for dump in dumps { dump.wait() }
        // 400 objects are counted by a reader; fewer might be counted immediately.
        let run = try runTandem(
            "count", "Page", "--where", "text CONTAINS 'x'", "--socket", place.socket)
        expect(run, 0, "400")
        let reached = try status()["limits"]?["storeReaders"]?["reached"]?.int
        #expect(reached ?? 0 > 0)
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test @MainActor func `a journal that was trimmed needs a backup to rebuild from`() throws {
        var daemon = try place.serve()
        let model = ManagedObjectModel { Entity("Page") { Attribute("text", .string) } }
        let container = PersistentContainer(model: model, socket: place.socket, author: "pages")
        let context = container.makeContext(name: "main")
        func write(_ count: Int) throws {
            for _ in 0..<count {
                let page = try context.insert("Page")
                page["text"] = .string(String(repeating: "x", count: 60_000))
                try context.save()
            }
        }
        try write(40)
        #expect(daemon.end(SIGTERM) == 0)
        expect(try runTandem("backup", backup, "-D", place.store), 0)
        daemon = try place.serve()
        try write(5)
        #expect(daemon.end(SIGTERM) == 0)
        let before = try runTandem("dump", "--hash", "-D", place.store).output
        let first = try #require(
            try files.list(place.store + "/journal").first { $0.hasSuffix(".journal") })
        try files.remove(place.store + "/journal/" + first)
        expect(
            try runTandem("rebuild", "-D", place.store), 1, "begins at position", "--from")
        expect(try runTandem("rebuild", "--from", backup, "-D", place.store), 0, "rebuilt")
        #expect(try runTandem("dump", "--hash", "-D", place.store).output == before)
        try place.serve().end(SIGTERM)
    }
}

import FoundationEssentials
import Glibc
import TandemIO
import TandemJournal
import TandemModel
import TandemStore
import TandemWire
import Testing

/// Conditions under which a daemon refuses to start, and must leave the disk unchanged.
@Suite(.ownThread, .serialized) struct RefusedStartTests {
    /// Returns a copy of a store with some journal segments.
    private func world() throws -> Place {
        let place = try Place()
        try FileManager.default.copyItem(atPath: try Self.made.get().store, toPath: place.store)
        return place
    }

    private static let made = Result { try makeWorld() }

    private static func makeWorld() throws -> Place {
        let place = try Place()
        let daemon = try place.serve()
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let text = String(repeating: "r", count: 40_000)
        var last: Int64 = 0
        for number in 0..<60 {
            let saved = try bridge.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(number)", "#
                    + #""zone": "\#(text)"}}]}"#)
            last = saved["position"]?.int ?? 0
        }
        _ = try bridge.finish()
        // The last checkpoint has every save.
        #expect(daemon.end(SIGTERM) == 0)
        #expect(last == 61)
        return place
    }

    /// Returns a hash of every file except the lock files, into which a daemon writes its process
    /// id.
    private func hashes(_ place: Place) throws -> [String: Int] {
        let files = RealFileSystem()
        var found: [String: Int] = [:]
        for directory in ["", "/journal", "/store"] {
            for name in try files.list(place.store + directory) {
                let path = "\(directory)/\(name)"
                guard !["lock", "lock.mdb", "journal", "store", "spare.new"].contains(name) else {
                    continue
                }
                let bytes = try files.contents(of: place.store + path, maximumBytes: 64 << 20)
                var hasher = Hasher()
                bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
                found[path] = hasher.finalize()
            }
        }
        return found
    }

    /// Starts a daemon that must refuse, and expects that nothing changed on the disk.
    private func refusal(_ place: Place, _ code: Int32 = 78) throws -> String {
        let before = try hashes(place)
        #expect(before.count >= 1)
        let daemon = try DaemonProcess(
            "tandemd",
            ["--store", place.store, "--socket", place.socket, "--segment-mebibytes", "1"])
        let output = daemon.readOutput()
        #expect(daemon.wait() == code, "\(output)")
        #expect(try hashes(place) == before, "something was changed: \(output)")
        #expect(!RealFileSystem().exists(place.socket))
        return output
    }

    @Test func `a journal that ends before the store's position is refused`() throws {
        let place = try world()
        let last = try #require(try segments(of: place.store).last)
        try RealFileSystem().remove(last)
        let output = try refusal(place)
        #expect(output.contains("the store is at position 61"), "\(output)")
        #expect(output.contains(place.store + "/journal"), "\(output)")
        #expect(output.contains("backup"), "\(output)")
    }

    @Test(arguments: ["chmod 770", "chmod 707"])
    func `a directory that others may write to is refused with the remedy`(_ change: String)
        throws
    {
        try expectForeign(after: change)
    }

    @Test(.enabled(if: ThisProcess.effectiveUserID == 0, "takes root"))
    func `a directory of another user is refused with the remedy`() throws {
        try expectForeign(after: "chown 4242")
    }

    private func expectForeign(after change: String) throws {
        let place = try world()
        try CommandRun(shell: "\(change) '\(place.store)'").check()
        let output = try refusal(place)
        #expect(output.contains("the store's directory \(place.store) belongs to"), "\(output)")
        #expect(output.contains("chmod 700 \(place.store)"), "\(output)")
    }

    @Test(arguments: ["store", "journal"])
    func `a directory of the store that is a link or open to others is refused`(_ name: String)
        throws
    {
        let place = try world()
        let path = "\(place.store)/\(name)"
        try CommandRun(shell: "chmod 777 '\(path)'").check()
        #expect(try refusal(place).contains("chmod 700 \(path)"))
        try CommandRun(
            shell: "chmod 700 '\(path)' && mv '\(path)' '\(place.path)/moved' && "
                + "ln -s '\(place.path)/moved' '\(path)'"
        ).check()
        #expect(try refusal(place).contains("\(path) is not a directory"))
    }

    @Test func `a lock file of LMDB that is a link is refused, and its target stays`() throws {
        let place = try world()
        let (path, precious) = (place.store + "/store/lock.mdb", place.path + "/precious")
        try "precious".write(toFile: precious, atomically: true, encoding: .utf8)
        try CommandRun(shell: "rm -f '\(path)'; ln -s '\(precious)' '\(path)'").check()
        #expect(try refusal(place).contains("\(path) is not a regular file"))
        #expect(try String(contentsOfFile: precious, encoding: .utf8) == "precious")
    }

    @Test(arguments: ["", ".lock"])
    func `a file in place of the socket or its lock is refused with the remedy`(_ suffix: String)
        throws
    {
        let place = try Place()
        let path = place.socket + suffix
        try "precious".write(toFile: path, atomically: true, encoding: .utf8)
        let daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket])
        let output = daemon.readOutput()
        #expect(daemon.wait() == 78, "\(output)")
        #expect(output.contains(path) && output.contains("move the file away"), "\(output)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test func `a path that is too long for a socket is refused with a remedy`() throws {
        let place = try Place()
        let socket = place.path + "/" + String(repeating: "x", count: 120)
        let daemon = try DaemonProcess("tandemd", ["--store", place.store, "--socket", socket])
        let output = daemon.readOutput()
        #expect(daemon.wait() == 78)
        #expect(output.contains("(ENAMETOOLONG); choose a shorter path\""), "\(output)")
    }

    @Test func `a missing journal is refused`() throws {
        let place = try world()
        for segment in try segments(of: place.store) { try RealFileSystem().remove(segment) }
        let output = try refusal(place)
        #expect(output.contains("there is no segment"), "\(output)")
    }

    @Test func `a missing data file of the store is refused with a remedy`() throws {
        let place = try world()
        try RealFileSystem().remove(place.store + "/store/data.mdb")
        let output = try refusal(place)
        #expect(output.contains("data.mdb") && output.contains("tandem rebuild"), "\(output)")
        #expect(!RealFileSystem().exists(place.store + "/store/data.mdb"))
    }

    @Test func `a store of a newer format is refused, and both directories are unchanged`()
        throws
    {
        let place = try world()
        let path = place.store + "/store/data.mdb"
        var bytes = try RealFileSystem().contents(of: path, maximumBytes: 64 << 20)
        let (key, value) = (Array("format".utf8), [UInt8]([1, 0, 0, 0]))
        var count = 0
        for start in bytes.indices.dropLast(10)
        where bytes[start] == key[0] && Array(bytes[start..<start + 10]) == key + value {
            bytes[start + 6] = 2
            count += 1
        }
        try #require(count > 0)
        try Data(bytes).write(to: URL(filePath: path))
        let output = try refusal(place)
        #expect(output.contains("has format 2, but this program supports format 1"), "\(output)")
        #expect(output.contains("use a version of Tandem with that format"), "\(output)")
    }

    @Test func `a journal of a newer format is refused, and both directories are unchanged`()
        throws
    {
        let place = try world()
        let path = try #require(try segments(of: place.store).last)
        var bytes = try RealFileSystem().contents(of: path, maximumBytes: 64 << 20)
        bytes[12] = 2
        let sum = CRC32C.checksum(bytes[12..<4_096])
        withUnsafeBytes(of: sum.littleEndian) { bytes.replaceSubrange(8..<12, with: $0) }
        try Data(bytes).write(to: URL(filePath: path))
        let output = try refusal(place)
        #expect(output.contains("format version 2, but this program supports 1"), "\(output)")
        #expect(output.contains(path), "\(output)")
    }

    @Test(arguments: [0.1, 0.5, 0.9])
    func `damage before the last batch is refused with segment and offset`(
        _ part: Double
    ) throws {
        let place = try world()
        let segment = try #require(try segments(of: place.store).first)
        let file = try RealFileSystem().open(segment, .readWrite)
        let offset = UInt64(part * 900_000)
        let byte = try file.read(count: 1, at: offset)
        try file.write([byte[0] ^ 0x40], at: offset)
        file.close()
        let output = try refusal(place)
        #expect(output.contains(segment) && output.contains("at offset"), "\(output)")
        #expect(output.contains("Nothing was changed"), "\(output)")
    }

    @Test func `law 3: a full map refuses saves until the daemon is started with a larger one`()
        throws
    {
        let place = try Place()
        var daemon = try place.serve(options: ["--map-limit-mebibytes", "2"])
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let text = String(repeating: "m", count: 40_000)
        var code: String?
        var count = 0
        func save() throws {
            count += 1
            let answer = try bridge.answer(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(count)", "#
                    + #""zone": "\#(text)"}}]}"#)
            code = answer["error"]?["code"]?.string
            if code != nil { count -= 1 }
        }
        while code == nil, count < 200 { try save() }
        #expect(code == "readOnly")
        #expect(count > 10)
        let fetched = try bridge.ask(#"{"do": "count", "entity": "Team"}"#)
        #expect(fetched["count"] == .int(Int64(count)))
        let status = try CommandRun("tandem", ["status", "--socket", place.socket])
        #expect(status.code == 1 && status.output.contains("map"), "\(status.output)")
        let health = try CommandRun("tandem", ["health", "--socket", place.socket])
        let line = health.lines.first { $0.hasPrefix("map: the store uses ") } ?? ""
        let percent = line.split(separator: " ").compactMap { Int($0) }.first ?? 0
        #expect(health.code == 1 && percent >= 90, "\(health.output)")
        for options in [["--map-limit-mebibytes", "2"], ["--map-limit-mebibytes", "16"]] {
            #expect(daemon.end(SIGKILL) == -SIGKILL)
            daemon = try place.serve(options: options)
            let there = try bridge.ask(#"{"do": "count", "entity": "Team"}"#)
            #expect(there["count"] == .int(Int64(count)))
        }
        try save()
        #expect(code == nil)
        _ = try bridge.finish()
        #expect(daemon.end(SIGTERM) == 0)
        let journal = try Journaled(place)
        #expect(journal.transactions.count == count + 1)
        #expect(try journal.storeDump() == journal.replayedDump())
    }

    @Test func `a limit on address space shrinks the map and does not fail the start`() throws {
        let place = try Place()
        let daemon = try DaemonProcess.serving(
            store: place.store, socket: place.socket, limits: "ulimit -v 4000000")
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        try bridge.ask(#"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "a"}}]}"#)
        _ = try bridge.finish()
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `a position that retention removed is answered with historyExpired`() throws {
        let place = try world()
        let files = RealFileSystem()
        var options = JournalOptions()
        options.segmentBytes = 1 << 20
        let (journal, _) = try Journal.open(
            directory: place.store + "/journal", fileSystem: files, options: options,
            identityIfNew: LogIdentity(high: 0, low: 0), appliedPosition: nil)
        try journal.trim(below: 61)
        let first = journal.bounds.first
        try journal.close()
        try #require(first > 2)
        let daemon = try place.serve()
        let now = try WireClient(place.socket, Hello())
        for (number, isKept) in [(UInt64(1), false), (first - 2, false), (first - 1, true)] {
            let client = try WireClient(
                place.socket, Hello(resume: now.cursor.at(number), interests: ["Team"]))
            #expect(client.welcome.resumed == isKept, "\(number)")
            client.onPush = { _ in #expect(isKept, "pushed to a reader that starts again") }
            _ = try client.ask(.sync(Sync()))
            let history = try client.ask(.history(HistoryRequest(from: number)))
            if case .failure(let error) = history {
                #expect(error.code == .historyExpired && !isKept)
                #expect(error.message.contains("snapshot"))
            } else {
                #expect(isKept, "\(number)")
            }
        }
        #expect(daemon.end(SIGTERM) == 0)
    }
}

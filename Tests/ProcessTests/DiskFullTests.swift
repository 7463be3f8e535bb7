import Glibc
import TandemIO
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemStore

/// A daemon that runs out of space in the middle of saves, seen by real clients.
@Suite(.ownThread) struct DiskFullTests {
    /// A daemon, a reader with a controller, a writer, and the means to use up their space.
    private final class World {
        let scarcity: Scarcity
        let disk: SmallDisk?
        let place: Place
        var daemon: DaemonProcess
        let reader: BridgeProcess
        let saver: BridgeProcess
        /// The position of every acknowledged save, by name.
        var acknowledged: [String: UInt64] = [:]
        var saves = 0
        private let text = String(repeating: "z", count: 20_000)

        init(_ scarcity: Scarcity, options: [String] = []) throws {
            self.scarcity = scarcity
            if case .disk(let kind) = scarcity {
                disk = try SmallDisk(kind, mebibytes: 24)
            } else {
                disk = nil
            }
            place = try Place(store: disk.map { $0.path + "/store" })
            daemon = try place.serve(options: options)
            reader = try BridgeProcess(place.socket, author: "reader")
            try reader.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
            try reader.ask(
                #"{"do": "open", "controller": "c", "entity": "Team", "sort": ["name"]}"#)
            saver = try BridgeProcess(place.socket, author: "saver")
        }

        /// Starts the shortage; a limit below the size of a segment also cuts writes into an
        /// existing segment.
        func begin(_ bytes: Int = 64 << 10) throws {
            try disk?.fill()
            if disk == nil { try #require(try limit(daemon.processID, "--fsize=\(bytes):")) }
        }

        func end() throws {
            try disk?.free()
            if disk == nil { try #require(try limit(daemon.processID, "--fsize=unlimited:")) }
        }

        /// Saves once; returns the error code if the save was refused.
        func save() throws -> String? {
            saves += 1
            let answer = try saver.answer(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "t\#(saves)", "#
                    + #""zone": "\#(text)"}}]}"#)
            if let position = answer["ok"]?["position"]?.int {
                acknowledged["t\(saves)"] = UInt64(position)
                return nil
            }
            return answer["error"]?["code"]?.string ?? "\(answer)"
        }

        /// Saves until a save is refused.
        func saveUntilRefused() throws {
            for _ in 0..<400 {
                guard let code = try save() else { continue }
                #expect(code == "readOnly")
                return
            }
            Issue.record("400 saves found room")
        }

        /// Checks that the reader fetches every acknowledged save, and that its controller shows
        /// each.
        func checkReader() throws {
            let last = acknowledged.values.max() ?? 0
            try reader.ask(#"{"do": "reach", "position": \#(last)}"#)
            let fetched = try reader.ask(#"{"do": "count", "entity": "Team"}"#)
            #expect(fetched["count"] == .int(Int64(acknowledged.count)))
            let sections = try reader.ask(#"{"do": "sections", "controller": "c"}"#)
            let rows = sections["sections"]?.array?.first?["objects"]?.array
            #expect(rows?.count == acknowledged.count)
        }

        /// Waits until the daemon reports that it accepts saves.
        func awaitRoom(_ client: WireClient) throws {
            _ = try client.ask(.sync(Sync()))
            for _ in 0..<1_200 where client.states.last?.isReadOnly == true {
                _ = try client.ask(.sync(Sync(number: .max, timeoutMilliseconds: 25)))
            }
            #expect(
                client.states.last?.isReadOnly == false,
                "the daemon did not report free space within 30 s")
        }

        func status() throws -> CommandRun {
            try CommandRun("tandem", ["status", "--socket", place.socket])
        }

        /// Checks that every acknowledged save is in the journal once, at the position of its
        /// answer.
        func checkJournal() throws {
            let journal = try Journaled(place)
            #expect(
                journal.transactions.map(\.position)
                    == Array(1...UInt64(journal.transactions.count)))
            #expect(Set(acknowledged.values).count == acknowledged.count)
            #expect(journal.transactions.count == acknowledged.count + 1)
            #expect(try journal.storeDump() == journal.replayedDump())
        }
    }

    @Test(arguments: Scarcity.possible)
    func `laws 3, 7 and 8: without space only saves are refused, until there is space again`(
        _ scarcity: Scarcity
    ) throws {
        let world = try World(scarcity)
        for _ in 0..<3 { #expect(try world.save() == nil) }
        let watcher = try WireClient(world.place.socket, Hello(author: "watcher"))
        #expect(!watcher.welcome.isReadOnly)
        try world.begin()
        try world.saveUntilRefused()
        try world.checkReader()
        _ = try watcher.ask(.sync(Sync()))
        #expect(watcher.states.last?.isReadOnly == true)
        #expect(watcher.states.last?.reason.contains(world.place.store) == true)
        try checkStatus(world)
        try world.end()
        try world.awaitRoom(watcher)
        // The refused save needs no restart of the daemon.
        for _ in 0..<2 {
            let refusal = try world.save()
            let status = try world.status().output
            #expect(refusal == nil, "\(status)")
        }
        try world.checkReader()
        let status = try world.status()
        #expect(status.code == 0, "\(status.output)")
        _ = try world.saver.finish()
        _ = try world.reader.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
        try world.checkJournal()
    }

    private func checkStatus(_ world: World) throws {
        let run = try CommandRun("tandem", ["status", "--socket", world.place.socket])
        #expect(run.code == 1)
        #expect(run.output.contains("read-only since "), "\(run.output)")
        let json = try CommandRun(
            "tandem", ["status", "-o", "json", "--socket", world.place.socket])
        #expect(json.code == 1)
        let status = try #require(json.json.first)
        #expect(status["readOnly"] == .bool(true))
        #expect(status["readOnlyReason"]?.string?.contains(world.place.store) == true)
        #expect((status["readOnlySince"]?.number ?? 0) > 1_700_000_000)
    }

    /// Each shortage with one way to end the daemon, and in the deep run with both.
    private static let ends =
        Scarcity.possible.enumerated().map { ($1, $0 % 2 == 0 ? SIGKILL : SIGTERM) }
        + Volume.of(
            [], deep: Scarcity.possible.enumerated().map { ($1, $0 % 2 == 0 ? SIGTERM : SIGKILL) })

    @Test(arguments: ends)
    func `law 3: a daemon restarts on a full disk without losing a save`(
        _ scarcity: Scarcity, _ signal: Int32
    ) throws {
        let world = try World(scarcity)
        for _ in 0..<3 { #expect(try world.save() == nil) }
        try world.begin(1_200 << 10)
        try world.saveUntilRefused()
        #expect(world.daemon.end(signal) == (signal == SIGKILL ? -SIGKILL : 0))
        // The limit was set on the old process; the new one must be started with it.
        let limits = world.disk == nil ? "ulimit -S -f 2400" : nil
        world.daemon = try DaemonProcess.serving(
            store: world.place.store, socket: world.place.socket, limits: limits)
        try world.checkReader()
        let watcher = try WireClient(world.place.socket, Hello(author: "watcher"))
        try world.saveUntilRefused()
        try world.checkReader()
        try world.end()
        try world.awaitRoom(watcher)
        #expect(try world.save() == nil)
        try world.checkReader()
        _ = try world.saver.finish()
        _ = try world.reader.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
        try world.checkJournal()
    }

    @Test(arguments: Scarcity.possible)
    func `law 3: a model change without space is refused, and succeeds once there is space`(
        _ scarcity: Scarcity
    ) throws {
        // The store keeps pages that a checkpoint reserved and did not use. With small checkpoints,
        // whenever they occur, these pages are too few for three megabytes of rows.
        let world = try World(scarcity, options: ["--set", "limits.checkpointPages=64"])
        for _ in 0..<120 { #expect(try world.save() == nil) }
        let watcher = try WireClient(world.place.socket, Hello(author: "watcher"))
        let model = bridgeModel.replacing(
            #"{"name": {"type": "string"}, "zone""#,
            with: #"{"motto": {"type": "string"}, "name": {"type": "string"}, "zone""#)
        let hello = Hello(author: "later", model: model)
        try world.begin()
        let error = #expect(throws: TandemError.self) {
            try WireClient(world.place.socket, hello)
        }
        #expect(error?.code == .readOnly)
        #expect(error?.message.contains(world.place.store) == true)
        try world.checkReader()
        _ = try watcher.ask(.sync(Sync()))
        let readOnly = watcher.states.count { $0.isReadOnly }
        #expect(readOnly > 0)
        try world.end()
        try world.awaitRoom(watcher)
        let later = try WireClient(world.place.socket, hello)
        #expect(later.welcome.position == UInt64(world.acknowledged.count) + 2)
        _ = try world.saver.finish()
        _ = try world.reader.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
        let journal = try Journaled(world.place)
        #expect(journal.transactions.count == world.acknowledged.count + 2)
        #expect(try journal.storeDump() == journal.replayedDump())
    }

    @Test(.enabled(if: SmallDisk.canMount(.tmpfs), "mounting takes root"))
    func `an I/O error means a full disk only if the disk is full`() throws {
        let disk = try SmallDisk(.tmpfs, mebibytes: 16)
        let store = try Store.open(
            path: disk.path, newIdentity: StoreIdentity(log: LogID(high: 1, low: 2), epoch: 1))
        defer { store.close() }
        let error = StoreError("write to", disk.path, EIO)
        #expect(store.meaning(of: error).code == .failed)
        store.releaseReservedSpace()
        try disk.fill()
        #expect(store.meaning(of: error).code == .noSpace)
        #expect(store.meaning(of: StoreError("write to", disk.path, ENOMEM)).code == .failed)
        try disk.free()
        #expect(store.meaning(of: error).code == .failed)
    }

    @Test(
        .enabled(if: SmallDisk.canMount(.tmpfs), "mounting takes root"))
    func `without space no store is created, and the exit code marks this as temporary`() throws {
        let disk = try SmallDisk(.tmpfs, mebibytes: 2)
        let place = try Place(store: disk.path + "/store")
        let daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket])
        let output = daemon.readOutput()
        #expect(daemon.wait() == 75)
        #expect(output.contains("No space left") && output.contains(place.store), "\(output)")
    }

    @Test(.enabled(if: isInstalled("strace"), "strace is not installed"))
    func `law 3: an exhausted quota is treated as a full disk`() throws {
        let place = try Place()
        let daemon = try place.serve()
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        _ = try bridge.finish()
        #expect(daemon.end(SIGTERM) == 0)
        // A test can't set a user quota, so the result of fallocate is replaced with EDQUOT.
        let tracer = try StracedDaemon(place, "inject=fallocate:error=EDQUOT")
        let saver = try BridgeProcess(place.socket)
        let text = String(repeating: "q", count: 40_000)
        var code: String?
        var count = 0
        while code == nil, count < 200 {
            count += 1
            let answer = try saver.answer(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(count)", "#
                    + #""zone": "\#(text)"}}]}"#)
            code = answer["error"]?["code"]?.string
        }
        #expect(code == "readOnly")
        let fetched = try saver.ask(#"{"do": "count", "entity": "Team"}"#)
        #expect(fetched["count"] == .int(Int64(count - 1)))
        let status = try CommandRun("tandem", ["status", "--socket", place.socket])
        #expect(status.code == 1 && status.output.contains("quota"), "\(status.output)")
        _ = try saver.finish()
        #expect(tracer.end(SIGTERM) == 0)
    }
}

/// A daemon under strace, which changes the results of some of its system calls.
struct StracedDaemon {
    let strace: DaemonProcess
    let processID: pid_t

    init(_ place: Place, _ injection: String, segmentMebibytes: Int = 1) throws {
        let words = [
            "strace -f -qq -o /dev/null -e trace=\(injection.split(separator: "=")[1].prefix { $0 != ":" })",
            "-e \(injection)",
        ]
        strace = try DaemonProcess(
            "tandemd",
            [
                "--store", place.store, "--socket", place.socket, "--segment-mebibytes",
                "\(segmentMebibytes)",
            ], wrapper: words.joined(separator: " "))
        let lines = strace.readOutput { $0.contains("ready:") }
        try #require(lines.contains("ready:"), "the daemon did not start: \(lines)")
        let children = try CommandRun(shell: "pgrep -P \(strace.processID)")
        processID = try #require(children.lines.first.flatMap { pid_t($0) })
    }

    /// Sends a signal to the daemon and waits for strace, which ends with the daemon's status.
    func end(_ signal: Int32) -> Int32 {
        kill(processID, signal)
        return strace.wait()
    }
}

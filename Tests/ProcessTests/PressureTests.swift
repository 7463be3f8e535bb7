import Dispatch
import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

/// Memory, clocks and clients that stand still.
@Suite(.ownThread, .serialized) struct PressureTests {
    @Test(.enabled(if: isInstalled("prlimit"), "prlimit is not installed"))
    func `laws 2 and 3: a daemon that runs out of memory is as one that was killed`() throws {
        let world = try PressedWorld()
        // From here on it gets no more memory; long messages ask for some.
        try #require(try limit(world.daemon.processID, "--as=1048576:"))
        try #require(world.eatUntilTheEnd(), "the daemon has enough memory for 64 long messages")
        // Nobody killed it: the runtime or LMDB did not get what they asked for.
        let end = world.daemon.wait()
        #expect([-SIGILL, -SIGTRAP, -SIGABRT, -SIGSEGV, -SIGBUS].contains(end), "ended by \(end)")
        try world.settle()
    }

    @Test(
        .enabled(if: MemoryGroup.isPossible, "no control group for memory that this user may make"))
    func `laws 2 and 3: the kernel's memory killer is as a kill`() throws {
        let world = try PressedWorld()
        let group = try MemoryGroup(world.daemon.processID, bytes: 1 << 20)
        try #require(world.eatUntilTheEnd(), "the daemon has enough memory for 64 long messages")
        #expect(world.daemon.wait() == -SIGKILL)
        #expect(try group.kills == 1)
        try world.settle()
    }

    /// Keeps little in memory, so that not much has to be saved.
    private static let smallRing = ["--set", "limits.ringBytes=1048576"]
    /// Four times the ring, and far more than a socket takes.
    private static let saves: Int64 = 64

    /// 64 saves of 60 kB each; gives the position of the last one.
    private func saveMuch(_ saver: BridgeProcess) throws -> Int64 {
        let text = String(repeating: "s", count: 60_000)
        var last: Int64 = 0
        for number in 0..<Self.saves {
            let saved = try saver.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(number)", "#
                    + #""zone": "\#(text)"}}]}"#)
            last = saved["position"]?.int ?? 0
        }
        return last
    }

    @Test func `laws 2, 7 and 8: a reader that stands still costs nobody anything`() throws {
        let world = try BridgedDaemon(Self.smallRing)
        let saver = try world.first("saver")
        let reader = try world.bridge("reader")
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        kill(reader.processID, SIGSTOP)
        let before = try ProcessSize(world.daemon.processID).bytes
        let last = try saveMuch(saver)
        // 4 MB went by; the ring of 1 MiB and the queue of one client stay.
        let after = try ProcessSize(world.daemon.processID).bytes
        #expect(after < before + 16 << 20, "\(before) bytes before, \(after) after")
        let clients = try CommandRun(
            "tandem", ["clients", "-o", "json", "--socket", world.place.socket])
        let row = try #require(clients.json.first { $0["author"]?.string == "reader" })
        #expect((row["queuedBytes"]?.int ?? .max) <= 2 << 20)
        #expect((row["lag"]?.int ?? 0) > Self.saves / 2)
        kill(reader.processID, SIGCONT)
        try reader.ask(#"{"do": "reach", "position": \#(last), "timeout": 120}"#)
        let positions = reader.takeEvents().filter { $0["event"]?.string == "save" }
            .compactMap { $0["position"]?.int }
        #expect(positions == Array((last - Self.saves + 1)...last))
        _ = try reader.finish()
        _ = try saver.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
    }

    @Test func `laws 2, 7 and 8: a hundred readers that stand still hold a transaction once`()
        throws
    {
        let world = try BridgedDaemon(Self.smallRing)
        let saver = try world.first("saver")
        let readers = try (0..<100).map { _ in
            try WireClient(world.place.socket, Hello(author: "still", interests: ["Team"]))
        }
        let before = try ProcessSize(world.daemon.processID).bytes
        let last = UInt64(try saveMuch(saver))
        // 4 MB went by, and a hundred sockets are full; the ring of 1 MiB and what was made of it for pushes stay.
        let after = try ProcessSize(world.daemon.processID).bytes
        #expect(after < before + 64 << 20, "\(before) bytes before, \(after) after")
        // One of them reads: everything comes, in order.
        var positions: [UInt64] = []
        readers[50].onPush = { positions.append($0.transaction.position) }
        _ = try readers[50].ask(.sync(Sync(number: last, timeoutMilliseconds: 60_000)))
        #expect(positions == Array((last - UInt64(Self.saves) + 1)...last))
        for reader in readers { reader.close() }
        _ = try saver.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
    }

    @Test(.enabled(if: FakeTime.library != nil, "libfaketime is not installed"))
    func `laws 2 and 6: a clock that jumps both ways changes no order and no timer`() throws {
        let place = try Place()
        let time = try FakeTime(place)
        let daemon = try DaemonProcess("tandemd", [], wrapper: time.environment)
        try #require(daemon.readOutput { $0.contains("ready:") }.contains("ready:"))
        let saver = try BridgeProcess(place.socket)
        try saver.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let reader = try BridgeProcess(place.socket)
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        var last: Int64 = 0
        for (number, jump) in ["+0", "-30d", "+10y", "-20y", "+0"].enumerated() {
            try time.jump(jump)
            for part in 0..<4 {
                let saved = try saver.ask(
                    #"{"do": "save", "ops": [{"insert": "Team", "#
                        + #""set": {"name": "\#(number) \#(part)"}}]}"#)
                #expect(saved["position"]?.int == last + (last == 0 ? 2 : 1))
                last = saved["position"]?.int ?? 0
            }
            // A timer that went by this clock would never come, or at once.
            let late = try WireClient(place.socket, Hello())
            let answer = try late.ask(.sync(Sync(number: 9_999, timeoutMilliseconds: 20)))
            guard case .failure(let error) = answer else {
                Issue.record("a position that is not there was reached")
                return
            }
            #expect(error.code == .timeout)
        }
        try reader.ask(#"{"do": "reach", "position": \#(last), "timeout": 120}"#)
        let positions = reader.takeEvents().filter { $0["event"]?.string == "save" }
            .compactMap { $0["position"]?.int }
        #expect(positions == Array(2...last))
        _ = try reader.finish()
        _ = try saver.finish()
        #expect(daemon.end(SIGTERM) == 0)
        let journal = try Journaled(place)
        let times = journal.transactions.map(\.time)
        #expect(zip(times, times.dropFirst()).contains { $0 > $1 }, "the clock went back")
        #expect(try journal.storeDump() == journal.replayedDump())
    }
}

/// A daemon that saves and delivers, and is to run out of memory.
private final class PressedWorld {
    let daemon: DaemonProcess
    private let place: Place
    private let saver: Saver
    private let listener: Listener
    private let threads: [KernelThread]

    /// Starts everything, and waits for a hundred saves.
    init() throws {
        let place = try Place()
        let (saver, listener) = (Saver("one", place), Listener(place))
        daemon = try DaemonProcess.serving(store: place.store, socket: place.socket)
        let acknowledged = DispatchSemaphore(value: 0)
        threads = [
            try KernelThread.start(name: "saver") { saver.run(acknowledged) },
            try KernelThread.start(name: "listener") { listener.run() },
        ]
        (self.place, self.saver, self.listener) = (place, saver, listener)
        for _ in 0..<100 { acknowledged.wait() }
    }

    /// Sends long messages that their receiver has to keep until nobody receives any; false when 64 of them changed nothing.
    func eatUntilTheEnd() -> Bool {
        let header: [UInt8] = [0, 0, 0x10, 0, 4, 1, 0, 0, 9, 0, 0, 0]
        let frame = header + [UInt8](repeating: 7, count: 1 << 20)
        var clients: [WireClient] = []
        for _ in 0..<64 {
            guard let client = try? WireClient(place.socket, Hello(author: "eater")) else {
                return true
            }
            // Left unfinished, so that all of it is kept.
            for _ in 0..<15 where (try? client.write(frame)) == nil { break }
            clients.append(client)
        }
        return false
    }

    /// Starts a daemon again, and checks that nothing acknowledged is lost or delivered twice.
    func settle() throws {
        for thread in threads { thread.join() }
        let again = try DaemonProcess.serving(store: place.store, socket: place.socket)
        saver.settle()
        listener.finish()
        #expect(again.end(SIGTERM) == 0)
        #expect(saver.problems + listener.problems == [])
        let journal = try Journaled(place)
        let positions = Set(journal.transactions.map(\.position))
        for (_, position) in saver.answered { #expect(positions.contains(position)) }
        #expect(saver.answered.count >= 100)
        #expect(
            listener.pushed.map(\.position) == Array(2...UInt64(journal.transactions.count)))
        #expect(try journal.storeDump() == journal.replayedDump())
    }
}

/// A wall clock that a test lets jump while a program runs.
struct FakeTime {
    static let library: String? = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    ].first { RealFileSystem().exists($0) }

    private let place: Place
    private let file: String

    init(_ place: Place) throws {
        self.place = place
        file = place.path + "/time"
        try jump("+0")
    }

    /// The words in front of the program's.
    var environment: String {
        // Under this library a Swift program does not see its arguments.
        "env LD_PRELOAD=\(Self.library ?? "") FAKETIME_TIMESTAMP_FILE='\(file)' FAKETIME_NO_CACHE=1"
            + " FAKETIME_DONT_FAKE_MONOTONIC=1 TANDEM_STORE='\(place.store)'"
            + " TANDEM_SOCKET='\(place.socket)'"
    }

    /// Sets how far the clock is from the true time.
    func jump(_ distance: String) throws {
        let next = try RealFileSystem().open(file + ".next", .createIfMissing)
        try next.truncate(to: 0)
        try next.write(Array((distance + "\n").utf8), at: 0)
        next.close()
        try RealFileSystem().rename(file + ".next", to: file)
    }
}

/// A control group, of version 1 or 2, that bounds a process's memory.
final class MemoryGroup: Sendable {
    /// The files of one version, and where its groups are made.
    private struct Version {
        let root: String
        let limit: String
        /// The file with the line `oom_kill N`.
        let events: String

        static let all = [
            Version(root: "/sys/fs/cgroup", limit: "memory.max", events: "memory.events"),
            Version(
                root: "/sys/fs/cgroup/memory", limit: "memory.limit_in_bytes",
                events: "memory.oom_control"),
        ]
    }

    private let version: Version
    private let path: String

    static var isPossible: Bool { (try? MemoryGroup(name: "tandem-try-\(getpid())")) != nil }

    /// What the process has already stays where it is counted; from here on it may have so much more.
    convenience init(_ process: pid_t, bytes: Int) throws {
        try self.init(name: "tandem-test-\(process)")
        let run = try CommandRun(
            shell: "echo \(bytes) > \(path)/\(version.limit)"
                + " && echo \(process) > \(path)/cgroup.procs")
        try #require(run.code == 0, "\(run.output)")
    }

    /// Makes an empty group of the first version that bounds memory here.
    private init(name: String) throws {
        for version in Version.all {
            let path = version.root + "/" + name
            guard mkdir(path, 0o700) == 0 else { continue }
            if access(path + "/" + version.limit, W_OK) == 0 {
                (self.version, self.path) = (version, path)
                return
            }
            rmdir(path)
        }
        throw TandemError(.usage, "no control group bounds memory here")
    }

    /// How many processes the kernel killed for want of memory in this group.
    var kills: Int {
        get throws {
            let lines = try CommandRun(shell: "cat \(path)/\(version.events)").output
                .split(separator: "\n")
            let line = lines.first { $0.hasPrefix("oom_kill ") }
            return try #require(line.flatMap { Int($0.dropFirst("oom_kill ".count)) }, "\(lines)")
        }
    }

    deinit { rmdir(path) }
}

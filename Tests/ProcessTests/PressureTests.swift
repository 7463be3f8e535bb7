import Dispatch
import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

/// Daemons under pressure: too little memory, jumping clocks, and clients that do not read.
@Suite(.ownThread, .serialized) struct PressureTests {
    @Test(.enabled(if: isInstalled("prlimit"), "prlimit is not installed"))
    func `laws 2 and 3: a daemon that runs out of memory has the effects of a killed one`() throws {
        let world = try PressedWorld()
        // From here on the daemon gets no more memory; long messages make it allocate.
        try #require(try limit(world.daemon.processID, "--as=1048576:"))
        try #require(world.eatUntilTheEnd(), "the daemon has enough memory for 64 long messages")
        // It was not killed from outside: the runtime or LMDB failed to allocate, or the kernel
        // refused memory with an error, after which the daemon ends by itself (75).
        let end = world.daemon.wait()
        let ends = [-SIGILL, -SIGTRAP, -SIGABRT, -SIGSEGV, -SIGBUS, 75]
        #expect(ends.contains(end), "ended by \(end)")
        try world.settle()
    }

    @Test(
        .enabled(if: MemoryGroup.isPossible, "this user cannot create a control group for memory"))
    func `laws 2 and 3: an out-of-memory kill has the effects of any kill`() throws {
        let world = try PressedWorld()
        let group = try MemoryGroup(world.daemon.processID, bytes: 1 << 20)
        try #require(world.eatUntilTheEnd(), "the daemon has enough memory for 64 long messages")
        #expect(world.daemon.wait() == -SIGKILL)
        #expect(try group.kills == 1)
        try world.settle()
    }

    /// Options for a small ring, so that few saves exceed it.
    private static let smallRing = ["--set", "limits.ringBytes=1048576"]
    /// The number of saves; together they are four times as large as the ring, and far larger than
    /// a socket's buffer.
    private static let saves: Int64 = 64

    /// Makes 64 saves of 60 kB each; returns the position of the last one.
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

    @Test func `laws 2, 7 and 8: a stopped reader costs the others nothing`() throws {
        let world = try BridgedDaemon(Self.smallRing)
        let saver = try world.first("saver")
        let reader = try world.bridge("reader")
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        kill(reader.processID, SIGSTOP)
        let before = try ProcessSize(world.daemon.processID).bytes
        let last = try saveMuch(saver)
        // 4 MB were saved; only the 1 MiB ring and the queue of one client remain in memory.
        let after = try ProcessSize(world.daemon.processID).bytes
        #expect(after < before + 16 << 20, "\(before) bytes before, \(after) after")
        let clients = try CommandRun(
            "tandem", ["clients", "-o", "json", "--socket", world.place.socket])
        let row = try #require(clients.json.first { $0["author"]?.string == "reader" })
        #expect((row["queuedBytes"]?.int ?? .max) <= 2 << 20)
        #expect((row["lag"]?.int ?? 0) > Self.saves / 2)
        kill(reader.processID, SIGCONT)
        try reader.ask(#"{"do": "reach", "position": \#(last), "timeout": 120}"#)
        let positions = reader.drainEvents().filter { $0["event"]?.string == "save" }
            .compactMap { $0["position"]?.int }
        #expect(positions == Array((last - Self.saves + 1)...last))
        _ = try reader.finish()
        _ = try saver.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
    }

    @Test func `laws 2, 7 and 8: a hundred readers that read nothing share each transaction`()
        throws
    {
        let world = try BridgedDaemon(Self.smallRing)
        let saver = try world.first("saver")
        let readers = try (0..<100).map { _ in
            try WireClient(world.place.socket, Hello(author: "still", interests: ["Team"]))
        }
        let before = try ProcessSize(world.daemon.processID).bytes
        let last = UInt64(try saveMuch(saver))
        // 4 MB were saved, and a hundred sockets are full; only the 1 MiB ring and its push bodies
        // remain.
        let after = try ProcessSize(world.daemon.processID).bytes
        #expect(after < before + 64 << 20, "\(before) bytes before, \(after) after")
        // One client reads, and receives everything in order.
        var positions: [UInt64] = []
        readers[50].onPush = { positions.append($0.transaction.position) }
        _ = try readers[50].ask(.sync(Sync(number: last, timeoutMilliseconds: 60_000)))
        #expect(positions == Array((last - UInt64(Self.saves) + 1)...last))
        for reader in readers { reader.close() }
        _ = try saver.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
    }

    @Test(.enabled(if: FakeTime.library != nil, "libfaketime is not installed"))
    func `laws 2 and 6: a clock that jumps both ways affects neither order nor timers`() throws {
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
            // A timer that used the wall clock would fire at once or never.
            let late = try WireClient(place.socket, Hello())
            let answer = try late.ask(.sync(Sync(number: 9_999, timeoutMilliseconds: 20)))
            guard case .failure(let error) = answer else {
                Issue.record("a position that does not exist was reached")
                return
            }
            #expect(error.code == .timeout)
        }
        try reader.ask(#"{"do": "reach", "position": \#(last), "timeout": 120}"#)
        let positions = reader.drainEvents().filter { $0["event"]?.string == "save" }
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

/// A daemon with a writer and a listener, which is made to run out of memory.
private final class PressedWorld {
    let daemon: DaemonProcess
    private let place: Place
    private let saver: Saver
    private let listener: Listener
    private let threads: [KernelThread]

    /// Starts the daemon and its clients, and waits for a hundred saves.
    init() throws {
        let place = try Place()
        let (saver, listener) = (Saver("one", place), Listener(place))
        daemon = try place.serve()
        let acknowledged = DispatchSemaphore(value: 0)
        threads = [
            try KernelThread.start(name: "saver") { saver.run(acknowledged) },
            try KernelThread.start(name: "listener") { listener.run() },
        ]
        (self.place, self.saver, self.listener) = (place, saver, listener)
        for _ in 0..<100 { acknowledged.wait() }
    }

    /// Sends long messages, which the daemon must keep in memory, until it accepts no more clients.
    ///
    /// Returns false if the daemon still runs after 64 clients.
    func eatUntilTheEnd() -> Bool {
        let header: [UInt8] = [0, 0, 0x10, 0, 4, 1, 0, 0, 9, 0, 0, 0]
        let frame = header + [UInt8](repeating: 7, count: 1 << 20)
        var clients: [WireClient] = []
        for _ in 0..<64 {
            guard let client = try? WireClient(place.socket, Hello(author: "eater")) else {
                return true
            }
            // The messages are left unfinished, so that the daemon keeps all their bytes.
            for _ in 0..<15 where (try? client.write(frame)) == nil { break }
            clients.append(client)
        }
        return false
    }

    /// Restarts the daemon, and checks that no acknowledged save is lost or delivered twice.
    func settle() throws {
        for thread in threads { thread.join() }
        let again = try place.serve()
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

/// A wall clock that a test can make jump while a program runs.
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

    /// The words of the command line before the program's name.
    var environment: String {
        // Under this library a Swift program does not see its arguments, so variables replace them.
        "env LD_PRELOAD=\(Self.library ?? "") FAKETIME_TIMESTAMP_FILE='\(file)' FAKETIME_NO_CACHE=1"
            + " FAKETIME_DONT_FAKE_MONOTONIC=1 TANDEM_STORE='\(place.store)'"
            + " TANDEM_SOCKET='\(place.socket)'"
    }

    /// Sets the clock's distance from the true time.
    func jump(_ distance: String) throws {
        let next = try RealFileSystem().open(file + ".next", .createIfMissing)
        try next.truncate(to: 0)
        try next.write(Array((distance + "\n").utf8), at: 0)
        next.close()
        try RealFileSystem().rename(file + ".next", to: file)
    }
}

/// A control group, of version 1 or 2, that limits a process's memory.
final class MemoryGroup: Sendable {
    /// The root directory and the file names of one version.
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

    /// Limits the memory that the process allocates from now on.
    ///
    /// Memory that it already has stays charged to its former group.
    convenience init(_ process: pid_t, bytes: Int) throws {
        try self.init(name: "tandem-test-\(process)")
        let run = try CommandRun(
            shell: "echo \(bytes) > \(path)/\(version.limit)"
                + " && echo \(process) > \(path)/cgroup.procs")
        try #require(run.code == 0, "\(run.output)")
    }

    /// Creates an empty group of the first version that can limit memory here.
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
        throw TandemError(.usage, "no control group can limit memory here")
    }

    /// The number of processes in this group that the kernel killed for lack of memory.
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

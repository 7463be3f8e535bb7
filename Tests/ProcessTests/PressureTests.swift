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
        let place = try Place()
        let saver = Saver("one", place)
        let listener = Listener(place)
        let daemon = try DaemonProcess.serving(store: place.store, socket: place.socket)
        let acknowledged = DispatchSemaphore(value: 0)
        let threads = [
            try KernelThread.start(name: "saver") { saver.run(acknowledged) },
            try KernelThread.start(name: "listener") { listener.run() },
        ]
        for _ in 0..<100 { acknowledged.wait() }
        let eater = try WireClient(place.socket, Hello())
        // From here on it gets no more memory; a long message asks for some.
        try #require(try limit(daemon.processID, "--as=1048576:"))
        eat(eater)
        // If it was careful enough to live on, it is killed.
        daemon.end(SIGKILL)
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

    /// Sends most of the longest message there may be, which its receiver has to keep.
    private func eat(_ client: WireClient) {
        let header: [UInt8] = [0, 0, 0x10, 0, 4, 1, 0, 0, 9, 0, 0, 0]
        let frame = header + [UInt8](repeating: 7, count: 1 << 20)
        for _ in 0..<15 {
            guard (try? client.write(frame)) != nil else { break }
        }
    }

    @Test(.enabled(if: MemoryGroup.isPossible, "no cgroup of version 1 that this user may make"))
    func `law 3: the kernel's memory killer is as a kill`() throws {
        let place = try Place()
        let saver = Saver("one", place)
        let daemon = try DaemonProcess.serving(store: place.store, socket: place.socket)
        let eater = try WireClient(place.socket, Hello())
        let acknowledged = DispatchSemaphore(value: 0)
        let thread = try KernelThread.start(name: "saver") { saver.run(acknowledged) }
        for _ in 0..<100 { acknowledged.wait() }
        let group = try MemoryGroup(daemon.processID, bytes: 1 << 20)
        eat(eater)
        // The killer is quick; a daemon that was spared would answer here, and would be killed all the same.
        #expect(throws: (any Error).self) { try eater.ask(.sync(Sync())) }
        #expect(daemon.end(SIGKILL) == -SIGKILL)
        withExtendedLifetime(group) {}
        thread.join()
        let again = try DaemonProcess.serving(store: place.store, socket: place.socket)
        saver.settle()
        #expect(again.end(SIGTERM) == 0)
        #expect(saver.problems == [])
        let journal = try Journaled(place)
        let positions = Set(journal.transactions.map(\.position))
        for (_, position) in saver.answered { #expect(positions.contains(position)) }
        #expect(try journal.storeDump() == journal.replayedDump())
    }

    /// 300 saves of 60 kB each; gives the position of the last one.
    private func saveMuch(_ saver: BridgeProcess) throws -> Int64 {
        let text = String(repeating: "s", count: 60_000)
        var last: Int64 = 0
        for number in 0..<300 {
            let saved = try saver.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(number)", "#
                    + #""zone": "\#(text)"}}]}"#)
            last = saved["position"]?.int ?? 0
        }
        return last
    }

    @Test func `laws 2, 7 and 8: a reader that stands still costs nobody anything`() throws {
        let world = try BridgedDaemon()
        let saver = try world.first("saver")
        let reader = try world.bridge("reader")
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        kill(reader.processID, SIGSTOP)
        let before = try ProcessSize(world.daemon.processID).bytes
        let last = try saveMuch(saver)
        // 18 MB went by; the ring of 16 MB and the queue of one client stay.
        let after = try ProcessSize(world.daemon.processID).bytes
        #expect(after < before + 64 << 20, "\(before) bytes before, \(after) after")
        let clients = try CommandRun(
            "tandem", ["clients", "-o", "json", "--socket", world.place.socket])
        let row = try #require(clients.json.first { $0["author"]?.string == "reader" })
        #expect((row["queuedBytes"]?.int ?? .max) <= 2 << 20)
        #expect((row["lag"]?.int ?? 0) > 200)
        kill(reader.processID, SIGCONT)
        try reader.ask(#"{"do": "reach", "position": \#(last), "timeout": 120}"#)
        let positions = reader.takeEvents().filter { $0["event"]?.string == "save" }
            .compactMap { $0["position"]?.int }
        #expect(positions == Array((last - 299)...last))
        _ = try reader.finish()
        _ = try saver.finish()
        #expect(world.daemon.end(SIGTERM) == 0)
    }

    @Test func `laws 2, 7 and 8: a hundred readers that stand still hold a transaction once`()
        throws
    {
        let world = try BridgedDaemon()
        let saver = try world.first("saver")
        let readers = try (0..<100).map { _ in
            try WireClient(world.place.socket, Hello(author: "still", interests: ["Team"]))
        }
        let before = try ProcessSize(world.daemon.processID).bytes
        let last = UInt64(try saveMuch(saver))
        // 18 MB went by, and a hundred sockets are full; the ring of 16 MB and what was made of it for pushes stay.
        let after = try ProcessSize(world.daemon.processID).bytes
        #expect(after < before + 64 << 20, "\(before) bytes before, \(after) after")
        // One of them reads: everything comes, in order.
        var positions: [UInt64] = []
        readers[50].onPush = { positions.append($0.transaction.position) }
        _ = try readers[50].ask(.sync(Sync(number: last, timeoutMilliseconds: 60_000)))
        #expect(positions == Array((last - 299)...last))
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

/// A control group of version 1 that bounds a process's memory.
final class MemoryGroup: Sendable {
    private static let root = "/sys/fs/cgroup/memory"
    private let path: String

    static var isPossible: Bool {
        RealFileSystem().exists(root + "/memory.limit_in_bytes") && access(root, W_OK) == 0
    }

    /// What the process has already stays where it is counted; from here on it may have so much more.
    init(_ process: pid_t, bytes: Int) throws {
        path = "\(Self.root)/tandem-test-\(process)"
        try #require(mkdir(path, 0o700) == 0)
        let run = try CommandRun(
            shell: "echo \(bytes) > \(path)/memory.limit_in_bytes"
                + " && echo \(process) > \(path)/cgroup.procs")
        try #require(run.code == 0, "\(run.output)")
    }

    deinit { rmdir(path) }
}

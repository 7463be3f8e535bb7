import Dispatch
import FoundationEssentials
import Glibc
import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

/// The real daemon with a service manager that the test emulates.
@Suite(.ownThread) struct ServiceManagerTests {
    let place: Place
    let manager: NotifySocket

    init() throws {
        place = try Place()
        manager = try NotifySocket(place)
    }

    private func daemon(watchdogMicroseconds: Int) throws -> DaemonProcess {
        try DaemonProcess.serving(
            store: place.store, socket: place.socket,
            limits: manager.exportCommand(watchdogMicroseconds: watchdogMicroseconds))
    }

    private static func isReady(_ message: String) -> Bool { message.hasPrefix("READY=1\n") }

    @Test func `the manager receives start, readiness, watchdog pings and stop, in this order`()
        throws
    {
        let daemon = try daemon(watchdogMicroseconds: 100_000)
        let start = try manager.messages(until: Self.isReady)
        #expect(start.count >= 3)
        for message in start.dropLast() {
            #expect(message.hasPrefix("EXTEND_TIMEOUT_USEC="), "\(message)")
        }
        #expect(start.last?.contains("STATUS=serving: position 0") ?? false)
        for _ in 0..<3 { _ = try manager.messages { $0 == "WATCHDOG=1" } }
        let client = try WireClient(place.socket, Hello(model: killModel.json.text))
        _ = try manager.messages { $0 == "STATUS=serving: position 1, 1 clients" }
        client.close()
        #expect(daemon.end(SIGTERM) == 0)
        let stop = try manager.messages { $0.hasPrefix("STOPPING=1\n") }
        #expect(stop.dropLast().allSatisfy { $0 == "WATCHDOG=1" || $0.hasPrefix("STATUS=") })
        // No message follows, because the process has ended.
        #expect(manager.next(withinMilliseconds: 0) == nil)
    }

    @Test func `law 3: the daemon is ready only after recovery`() throws {
        let saver = Saver("one", place)
        let first = try daemon(watchdogMicroseconds: 60_000_000)
        _ = try manager.messages(until: Self.isReady)
        let acknowledged = DispatchSemaphore(value: 0)
        let thread = try KernelThread.start(name: "saver") { saver.run(acknowledged) }
        for _ in 0..<600 { acknowledged.wait() }
        first.end(SIGKILL)
        thread.join()
        let second = try daemon(watchdogMicroseconds: 60_000_000)
        let messages = try manager.messages(until: Self.isReady)
        #expect(messages.contains { $0.hasSuffix("STATUS=opening the store") })
        #expect(messages.contains { $0.hasSuffix("STATUS=reading the journal") })
        let last = try #require(saver.answered.last?.position)
        // "READY=1\nSTATUS=serving: position 601, 0 clients"
        let words = messages.last?.split(separator: " ").dropFirst(2).first ?? ""
        #expect((UInt64(words.filter(\.isNumber)) ?? 0) >= last, "\(messages)")
        #expect(second.end(SIGTERM) == 0)
    }

    @Test(
        .enabled(
            if: isInstalled("strace") && ThisProcess.effectiveUserID == 0,
            "strace is not installed, or the test is not root"))
    func `a daemon that hangs in a flush sends no watchdog pings`() throws {
        let daemon = try daemon(watchdogMicroseconds: 100_000)
        _ = try manager.messages(until: Self.isReady)
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        // From now on, each flush lasts an hour.
        let tracer = try DaemonProcess(
            "tandemd", [],
            shell: "exec strace -f -o /dev/null -e trace=fdatasync,fsync "
                + "-e inject=fdatasync,fsync:delay_enter=3600000000 -p \(daemon.processID)")
        let attached = tracer.readOutput { $0.contains("attached") }
        try #require(attached.contains("attached"), "\(attached)")
        try bridge.send(#"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "a"}}]}"#)
        // The messages in flight arrive, and none after them.
        var signs = 0
        while signs < 100, manager.next(withinMilliseconds: 400) != nil { signs += 1 }
        #expect(signs < 100)
        // Without the tracer the flush returns, the save is answered, and watchdog pings resume.
        #expect(tracer.end(SIGKILL) == -SIGKILL)
        _ = try manager.messages { $0 == "WATCHDOG=1" }
        #expect(try bridge.read()["ok"] != nil)
        _ = try bridge.finish()
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test func `law 3: a stop under load keeps every answered save and exits with 0`()
        throws
    {
        let savers = (0..<4).map { Saver("saver \($0)", place) }
        let daemon = try daemon(watchdogMicroseconds: 60_000_000)
        let acknowledged = DispatchSemaphore(value: 0)
        let threads = try savers.map { saver in
            try KernelThread.start(name: saver.name) { saver.run(acknowledged) }
        }
        for _ in 0..<400 { acknowledged.wait() }
        kill(daemon.processID, SIGTERM)
        let log = daemon.readOutput()
        #expect(daemon.wait() == 0, "\(log)")
        for thread in threads { thread.join() }
        #expect(log.contains("stopping: position=") && log.contains("stopped: position="))
        let journal = try Journaled(place)
        let kept = Dictionary(
            journal.transactions.map { ($0.saveID, $0.position) }, uniquingKeysWith: { a, _ in a })
        let answered = savers.flatMap(\.answered)
        #expect(answered.count >= 400)
        for (id, position) in answered { #expect(kept[id] == position) }
        // The last checkpoint is complete, so nothing is replayed.
        let again = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket])
        #expect(again.readOutput { $0.contains("replay_us") }.contains(" replayed=0 "))
        #expect(again.end(SIGTERM) == 0)
    }

    @Test
    func
        `laws 3 and 7: a stop finishes at most two batches and a checkpoint, and waits for no client`()
        throws
    {
        let savers = (0..<4).map { Saver("saver \($0)", place) }
        // Lines reach a file at once, so the test knows which lines were logged before a moment.
        let file = place.path + "/log"
        let daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket, "--log-level", "debug"],
            shell: "exec 2>'\(file)'")
        while (try? Socket.connect(path: place.socket)) == nil {}
        let acknowledged = DispatchSemaphore(value: 0)
        let threads = try savers.map { saver in
            try KernelThread.start(name: saver.name) { saver.run(acknowledged) }
        }
        for _ in 0..<100 { acknowledged.wait() }
        let reader = try BridgeProcess(place.socket, author: "reader")
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Note"}"#)
        try suspendProcess(reader.processID)
        for _ in 0..<300 { acknowledged.wait() }
        // The daemon is stopped here, so everything that it logs later comes after the signal.
        try suspendProcess(daemon.processID)
        let before = try String(contentsOfFile: file, encoding: .utf8)
        kill(daemon.processID, SIGTERM)
        kill(daemon.processID, SIGCONT)
        #expect(daemon.wait() == 0)
        for thread in threads { thread.join() }
        let log = try String(contentsOfFile: file, encoding: .utf8).dropFirst(before.count)
        let events = log.split(separator: "\n").compactMap { line in
            line.split(separator: " ").dropFirst().first.map { String($0.dropLast()) }
        }
        #expect(before.contains(" flushed: "), "the log mentions batches")
        let end = try #require(events.firstIndex(of: "stopping"), "\(log)")
        // Two batches at most: the one in progress, and one in the round that notices the signal.
        #expect(events[..<end].count { $0 == "flushed" } <= 2, "\(log)")
        #expect(
            events[end...].filter { $0 != "checkpoint" && $0 != "slow" } == [
                "stopping", "stopped",
            ], "\(log)")
        #expect(events[end...].count { $0 == "checkpoint" } <= 1, "\(log)")
        kill(reader.processID, SIGCONT)
        reader.kill()
        let journal = try Journaled(place)
        let kept = Set(journal.transactions.map(\.position))
        for (_, position) in savers.flatMap(\.answered) { #expect(kept.contains(position)) }
    }

    @Test func `a line of the log begins with its priority if it goes to journald`() throws {
        // As under systemd, the variable names the file that standard error refers to.
        let daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket],
            shell: "export JOURNAL_STREAM=$(stat -L -c '%d:%i' /proc/self/fd/2)")
        let ready = daemon.readOutput { $0.contains("ready:") }
        #expect(ready.hasPrefix("<5>ready: store="), "\(ready)")
        #expect(daemon.end(SIGTERM) == 0)
        let other = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket],
            shell: "export JOURNAL_STREAM=1:2")
        let plain = other.readOutput { $0.contains("ready:") }
        #expect(plain.hasPrefix("tandemd: "), "\(plain)")
        #expect(other.end(SIGTERM) == 0)
    }

    @Test func `the daemon logs at the given level`() throws {
        let arguments = ["--store", place.store, "--socket", place.socket, "--log-level"]
        let loud = try DaemonProcess("tandemd", arguments + ["debug"])
        _ = loud.readOutput { $0.contains("ready:") }
        #expect(try CommandRun("tandem", ["status", "--socket", place.socket]).code == 0)
        #expect(loud.readOutput { $0.contains("connection-closed:") }.contains("author=tandem"))
        #expect(loud.end(SIGTERM) == 0)
        let quiet = try DaemonProcess("tandemd", arguments + ["warning"])
        while (try? Socket.connect(path: place.socket)) == nil {}
        kill(quiet.processID, SIGTERM)
        #expect(quiet.readOutput() == "")
        #expect(quiet.wait() == 0)
        let wrong = try CommandRun("tandemd", arguments + ["loud"])
        #expect(wrong.code == 2 && wrong.output.contains("loud"))
    }
}

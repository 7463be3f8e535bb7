import Glibc
import TandemIO
import TandemModel
import Testing

/// Stops a child of this process with SIGSTOP, and returns after it has stopped.
func suspendProcess(_ process: pid_t) throws {
    try #require(kill(process, SIGSTOP) == 0)
    var status: Int32 = 0
    while waitpid(process, &status, WUNTRACED) < 0, errno == EINTR {}
    // The low byte of a stopped child's status is 0x7f.
    try #require(status & 0xff == 0x7f, "\(process) ended instead of being suspended: \(status)")
}

/// A suspended machine: daemon and clients stop together, and only the wall clock advances
/// meanwhile.
@Suite(.ownThread) struct SuspendTests {
    private let place: Place

    init() throws { place = try Place() }

    private func start(_ time: FakeTime?) throws -> DaemonProcess {
        let arguments = ["--store", place.store, "--socket", place.socket]
        let daemon = try DaemonProcess(
            "tandemd", time == nil ? arguments : [], wrapper: time?.environment ?? "")
        try #require(daemon.readOutput { $0.contains("ready:") }.contains("ready:"))
        return daemon
    }

    @Test
    func `laws 2 and 3: saves during a suspension of the machine are neither lost nor repeated`()
        throws
    {
        try suspend(nil)
    }

    @Test(.enabled(if: FakeTime.library != nil, "libfaketime is not installed"))
    func `laws 2 and 3: the same holds if the wall clock advances during the suspension`() throws {
        try suspend(try FakeTime(place))
    }

    private func suspend(_ time: FakeTime?) throws {
        let daemon = try start(time)
        let saver = try BridgeProcess(place.socket, author: "saver")
        try saver.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let reader = try BridgeProcess(place.socket, author: "reader")
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        var all = [saver.processID, daemon.processID, reader.processID]
        var saved: [Int64] = []
        for (round, jump) in ["+1d", "+30d", "+10y"].enumerated() {
            for number in 0..<60 {
                try saver.send(
                    #"{"do": "save", "ops": [{"insert": "Team", "#
                        + #""set": {"name": "\#(round) \#(number)"}}]}"#)
            }
            // Some saves are answered, some are in flight, and some have not been read yet.
            saved += try answers(5, of: saver)
            for process in all { try suspendProcess(process) }
            try time?.jump(jump)
            for process in all.reversed() { kill(process, SIGCONT) }
            saved += try answers(55, of: saver)
            all.append(all.removeFirst())
        }
        #expect(saved == Array(2...181))
        try reader.ask(#"{"do": "reach", "position": 181, "timeout": 120}"#)
        let events = reader.drainEvents()
        // No client lost its connection.
        #expect(Set(events.compactMap { $0["event"]?.string }) == ["save"])
        #expect(events.compactMap { $0["position"]?.int } == saved)
        _ = try reader.finish()
        _ = try saver.finish()
        kill(daemon.processID, SIGTERM)
        #expect(!daemon.readOutput().contains("connection-dropped"))
        #expect(daemon.wait() == 0)
        let journal = try Journaled(place)
        #expect(journal.transactions.count == 181)
        #expect(try journal.storeDump() == journal.replayedDump())
    }

    /// Returns the positions of the next answers, each of which must be a save's.
    private func answers(_ count: Int, of saver: BridgeProcess) throws -> [Int64] {
        var positions: [Int64] = []
        while positions.count < count {
            let line = try saver.read()
            guard line["id"] != nil else {
                try #require(line["event"]?.string == "schema", "\(line)")
                continue
            }
            positions.append(try #require(line["ok"]?["position"]?.int, "\(line)"))
        }
        return positions
    }
}

import FoundationEssentials
import Glibc
import TandemModel
import Testing

/// The environment variable itself, read by a separate process.
@Suite(.ownThread) struct DebugVariableTests {
    @Test
    func `with TANDEM_DEBUG=1 a process traces its work to standard error, and only there`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let other = try daemon.first()
        let path = daemon.place.path + "/told"
        let bridge = try BridgeProcess(daemon.place.socket, debug: path)
        try other.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "as": "t", "set": {"name": "A"}}]}"#)
        try bridge.ask(
            #"{"do": "fetch", "entity": "Team", "properties": ["name", "players"]}"#)
        let answer = try bridge.ask(
            #"{"do": "save", "ops": [{"update": "Team/1", "set": {"name": "B"}}]}"#)
        #expect(try bridge.finish() == .exited(0) && bridge.drainEvents().isEmpty)
        let told = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let topics = Set(told.map { $0.prefix { $0 != ":" } })
        #expect(
            topics == ["tandem fetch", "tandem fault", "tandem merge", "tandem save"], "\(told)")
        let position = answer["position"]?.int ?? 0
        #expect(told.last?.contains(" position=\(position) ") == true, "\(told)")
    }
}

import Glibc
import TandemIO
import TandemModel
import TandemWire
import TestSupport
import Testing

/// A daemon that `systemd-socket-activate` starts when the first client connects.
@Suite(
    .ownThread,
    .enabled(if: isInstalled("systemd-socket-activate"), "systemd-socket-activate is not installed")
)
struct ActivationTests {
    /// Starts a process that listens on a socket and becomes a daemon at the first connection.
    private func listen(_ place: Place, _ name: String) throws -> DaemonProcess {
        // The tool runs the command after its own options; `$0` is the daemon's path.
        let socket = place.path + "/" + name + ".sock"
        let script = #"exec systemd-socket-activate -l "$1" "$0" --store "$2""#
        let daemon = try DaemonProcess(
            "tandemd", [socket, place.path + "/" + name], wrapper: "/bin/sh -c '\(script)'")
        let lines = daemon.readOutput { $0.contains("Listening on") }
        try #require(lines.contains("Listening on"), "\(lines)")
        return daemon
    }

    private func socket(_ place: Place, _ name: String) -> String { "\(place.path)/\(name).sock" }

    private func inode(_ path: String) throws -> String {
        try CommandRun(shell: "stat -c %i '\(path)'").output
    }

    private func save(_ bridge: BridgeProcess, _ name: String) throws -> Int64 {
        let saved = try bridge.ask(
            #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(name)"}}]}"#)
        return saved["position"]?.int ?? 0
    }

    @Test func `two stores, each started by its first client, keep their sockets and data apart`()
        throws
    {
        let place = try Place()
        let daemons = (try listen(place, "one"), try listen(place, "two"))
        // No client has connected, so no store was created.
        #expect(!RealFileSystem().exists(place.path + "/one/store"))
        let before = try inode(socket(place, "one"))
        let bridges = (
            try BridgeProcess(socket(place, "one")), try BridgeProcess(socket(place, "two"))
        )
        for bridge in [bridges.0, bridges.1] {
            try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        }
        #expect(try save(bridges.0, "a") == 2)
        #expect(try save(bridges.0, "b") == 3)
        #expect(try save(bridges.1, "c") == 2)
        _ = try bridges.0.finish()
        _ = try bridges.1.finish()
        #expect(daemons.0.end(SIGTERM) == 0)
        #expect(daemons.1.end(SIGTERM) == 0)
        // An adopted socket belongs to its owner, so the daemon does not remove it.
        #expect(try inode(socket(place, "one")) == before)
        #expect(RealFileSystem().exists(socket(place, "two")))
    }

    @Test
    func
        `laws 2 and 3: a daemon that was killed and started by the next client serves earlier clients`()
        throws
    {
        let place = try Place()
        let first = try listen(place, "one")
        let reader = try BridgeProcess(socket(place, "one"))
        try reader.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        try reader.ask(#"{"do": "observe", "observer": "o", "entity": "Team"}"#)
        let saver = try BridgeProcess(socket(place, "one"))
        var positions = [try save(saver, "a"), try save(saver, "b")]
        first.end(SIGKILL)
        let second = try listen(place, "one")
        positions += [try save(saver, "c"), try save(saver, "d")]
        #expect(positions == [2, 3, 4, 5])
        try reader.ask(#"{"do": "reach", "position": 5, "timeout": 60}"#)
        let seen = reader.drainEvents().filter { $0["event"]?.string == "save" }
            .compactMap { $0["position"]?.int }
        #expect(seen == positions)
        _ = try saver.finish()
        _ = try reader.finish()
        #expect(second.end(SIGTERM) == 0)
    }
}

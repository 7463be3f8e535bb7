import Foundation
import Tandem
import TandemIO
import Testing

/// The output of the maintenance verbs, byte for byte, with placeholders for parts that vary
/// between runs.
@Suite(.ownThread) struct MaintenanceGoldenTests {
    let place: Place
    let daemon: DaemonProcess

    init() throws {
        place = try Place()
        daemon = try place.serve()
    }

    private static let model = """
        {"entities": {"Team": {
            "attributes": {"name": {"type": "string"}, "wins": {"type": "int"}},
            "indexes": [["wins"]], "uniqueness": [["name"]]}}}
        """

    private func tandem(_ line: String) throws -> CommandRun {
        let program = DaemonProcess.products + "/tandem"
        return try CommandRun(
            path: "/bin/sh",
            [
                "-c",
                "cd '\(place.path)'; export TANDEM_SOCKET='\(place.socket)'; '\(program)' \(line)",
            ])
    }

    /// Returns the output without the place's path and the parts that vary between runs.
    ///
    /// Sizes depend on the time of checkpoints, so only their presence is compared.
    private func masked(_ output: String, _ name: String) -> String {
        var text = output.replacing(place.path, with: "PLACE")
        if name.hasPrefix("disk-usage") {
            text = text.replacing(#/[0-9.]+ (bytes|KiB|MiB)/#, with: "SIZE")
        }
        text = text.replacing(#/"bytes":[0-9]+/#, with: "\"bytes\":SIZE")
        // The indentation of a plan shows its tree.
        if name.hasPrefix("explain") { return text.replacing(#/([^ \n]) +/#) { "\($0.1) " } }
        return text.replacing(#/ +/#, with: " ")
    }

    private func golden(_ line: String, _ name: String, code: Int32 = 0) throws {
        let run = try tandem(line)
        #expect(run.code == code, "\(line): \(run.output)")
        try Golden.expect(masked(run.output, name), name)
    }

    private func write(_ name: String, _ text: String) throws {
        try text.write(toFile: place.path + "/" + name, atomically: true, encoding: .utf8)
    }

    @Test @MainActor func `a daemon with some objects`() throws {
        try write("model.json", Self.model)
        try write("teams.csv", "name,wins\nGhana,1\nQatar,x\nMali,2\n\"Peru\n")
        try #require(try tandem("schema apply model.json").code == 0)
        try golden("import teams.csv --entity Team --id x", "import.short", code: 1)
        try golden("import teams.csv --entity Team --id x -o json", "import.json", code: 1)
        try Golden.expect(
            try String(contentsOfFile: place.path + "/teams.csv.rejects", encoding: .utf8),
            "import.rejects")
        try golden("explain Team --where 'wins > 1' --sort=-wins", "explain.index")
        try golden("explain Team --where 'name CONTAINS \"a\"' -o json", "explain.json")
        // Up to the first limit: the other limits are printed in the same way.
        try golden("config | sed '/limits.connectionsPer/,$d'", "config.short")
        try golden("config -o json | sed '/limits.connectionsPer/,$d'", "config.json")
        try golden("consumers", "consumers.none")
        try golden("vacuum --size 1M --dry-run", "vacuum.dry")
        try golden("vacuum --size 1M --yes -o json", "vacuum.json")
        try golden("subscriptions", "subscriptions.none")
        try follow()
        #expect(daemon.end(SIGTERM) == 0)
        try golden("disk-usage -D store", "disk-usage.short")
        try golden("disk-usage -D store -o json", "disk-usage.json")
        try golden("verify -D store", "verify.short")
        try golden("verify -D store --deep -o json", "verify.json")
        try golden("verify -D nowhere", "verify.nowhere", code: 1)
    }

    /// Compares the output of verbs while a client follows a list.
    private func follow() throws {
        let watch = try ChildProcess.start(
            DaemonProcess.products + "/tandem",
            ["watch", "Team", "--sort", "name", "--socket", place.socket], output: .pipe)
        defer { watch.kill() }
        var shown: [UInt8] = []
        while !String(decoding: shown, as: UTF8.self).contains("Mali") {
            let more = try watch.read(count: 4_096)
            try #require(!more.isEmpty)
            shown += more
        }
        let subscribed = try tandem("subscriptions").output
            .replacing("\(watch.processID)", with: "PID")
            .replacing(try Regex("(?m)^[0-9]+ +PID +[0-9]+ "), with: "ID PID UID ")
        try Golden.expect(masked(subscribed, "subscriptions.watch"), "subscriptions.watch")
        try #require(try tandem("consumers register mirror --at 1").code == 0)
        try #require(try tandem("consumers register 'the index of all that is searched'").code == 0)
        for (line, name) in [
            ("consumers", "consumers.two"), ("consumers info mirror --utc", "consumers.info"),
            ("consumers info 'the index of all that is searched' --utc", "consumers.info.done"),
        ] {
            let uid = ThisProcess.effectiveUserID
            let text = try tandem(line).output
                .replacing(try Regex("Owner .*"), with: "Owner OWNER")
                .replacing(try Regex("Since .*"), with: "Since TIME")
                .replacing(try Regex("false +\(uid) "), with: "false UID ")
            try Golden.expect(masked(text, name), name)
        }
        let run = try tandem("subscriptions --entity Team -o json")
        let json = try #require(run.json.first)
        #expect(json["entities"] == .array([.string("Team")]))
        #expect(json["pid"]?.int == Int64(watch.processID))
    }
}

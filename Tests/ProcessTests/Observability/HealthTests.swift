import Glibc
import Tandem
import TandemIO
import Testing

@testable import tandem

/// `tandem health`: each rule with a made-up status, and the command with a daemon.
@Suite(.ownThread) struct HealthTests {
    private static let healthy = """
        {"readOnly": false, "usedPercent": 79, "oldestReaderSeconds": 59, "journalFirst": 1, "position": 1000,
         "spareFailure": null, "clients": [{"id": 1, "author": "a", "pid": 7, "lag": 99999, "position": 1}],
         "consumers": [{"name": "c", "acknowledged": 1, "lag": 99999, "expired": false}],
         "retention": {"bytes": 89, "capBytes": 100, "failure": null}}
        """

    private func problems(
        _ changes: (String, String)..., thresholds: Health.Thresholds = .init()
    ) throws -> [String] {
        var text = Self.healthy
        for (old, new) in changes {
            try #require(text.contains(old), "\(old)")
            text = text.replacing(old, with: new)
        }
        return Health(try JSON(parsing: text), thresholds).problems.map(\.name)
    }

    @Test func `values below the thresholds are healthy, values at a threshold are problems`()
        throws
    {
        #expect(try problems() == [])
        #expect(try problems((#""usedPercent": 79"#, #""usedPercent": 80"#)) == ["map"])
        #expect(
            try problems((#""oldestReaderSeconds": 59"#, #""oldestReaderSeconds": 60"#)) == [
                "reader"
            ])
        #expect(
            try problems((#""lag": 99999"#, #""lag": 100000"#)) == ["consumer-lag", "client-lag"])
        #expect(
            try problems((#""expired": false"#, #""expired": true"#)) == ["consumer-expired"])
        #expect(
            try problems((#""failure": null"#, #""failure": "EIO""#)) == ["trim"])
        let unreadable = (#""readOnly": false"#, #""readOnly": false, "consumersFailure": "EIO""#)
        #expect(try problems(unreadable) == ["consumers"])
    }

    @Test func `a missing spare segment is a problem of its own unless the store is read-only`()
        throws
    {
        let spare = (#""spareFailure": null"#, #""spareFailure": "no room""#)
        #expect(try problems(spare) == ["no-spare-segment"])
        #expect(try problems(spare, (#""readOnly": false"#, #""readOnly": true"#)) == ["read-only"])
    }

    @Test func `a journal near its cap is a problem only for readers of its oldest part`() throws {
        let full = (#""bytes": 89"#, #""bytes": 90"#)
        #expect(try problems(full) == ["journal-cap", "journal-cap"])
        let ahead = (#""acknowledged": 1,"#, #""acknowledged": 900,"#)
        #expect(try problems(full, ahead, (#""position": 1}"#, #""position": 900}"#)) == [])
        #expect(try problems(full, (#""capBytes": 100"#, #""capBytes": null"#)) == [])
    }

    @Test func `thresholds can be set`() throws {
        let strict = Health.Thresholds(mapPercent: 10, journalPercent: 10, lag: 1, readerLag: 1)
        #expect(
            Set(try problems(thresholds: strict)) == [
                "map", "reader", "journal-cap", "consumer-lag", "client-lag",
            ])
    }

    @Test func `exit codes are 0 healthy, 1 degraded, 2 usage, 3 no daemon`() throws {
        let place = try Place()
        func serve() throws -> DaemonProcess {
            try place.serve(options: ["--map-limit-mebibytes", "16"])
        }
        let first = try serve()
        func health(_ arguments: String...) throws -> CommandRun {
            try CommandRun("tandem", ["health", "--socket", place.socket] + arguments)
        }
        let well = try health()
        #expect(well.code == 0 && well.output == "healthy\n")
        #expect(
            try health("-o", "json").json.first
                == .object(["state": .string("healthy"), "problems": .array([])]))
        let bridge = try BridgeProcess(place.socket)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        let text = String(repeating: "x", count: 50_000)
        for number in 0..<10 {
            try bridge.ask(
                #"{"do": "save", "ops": [{"insert": "Team", "set": {"name": "\#(number)", "zone": "\#(text)"}}]}"#
            )
        }
        _ = try bridge.finish()
        // Ending the daemon makes a checkpoint, after which the store's size is known.
        #expect(first.end(SIGTERM) == 0)
        let daemon = try serve()
        let ill = try health("--map-percent", "1")
        #expect(
            ill.code == 1 && ill.lines.count == 1 && ill.output.hasPrefix("map: "), "\(ill.output)")
        let json = try #require(try health("--map-percent", "1", "-o", "json").json.first)
        #expect(json["state"]?.string == "degraded")
        #expect(json["problems"]?.array?.first?["name"]?.string == "map")
        #expect(try health("--map-percent", "0").code == 2)
        #expect(daemon.end(SIGTERM) == 0)
        #expect(try health().code == 3)
    }
}

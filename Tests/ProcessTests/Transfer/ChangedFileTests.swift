import Foundation
import Tandem
import TandemIO
import TandemWire
import TestSupport
import Testing

/// Imports of a file that changes while it is read: first for its entities, then for the rows of
/// each entity, and last for links between them.
@Suite(.ownThread) struct ChangedFileTests: StoreSuite {
    let place: Place

    init() throws { place = try .serving(Self.model) }

    private static let model = """
        {"entities": {
            "Team": {"attributes": {"label": {"type": "string"}},
                "relationships": {"parent": {"to": "Team", "inverse": "parts"},
                    "parts": {"to": "Team", "toMany": true, "inverse": "parent"}},
                "uniqueness": [["label"]]},
            "Person": {"attributes": {"label": {"type": "string"}},
                "relationships": {"boss": {"to": "Person", "inverse": "staff"},
                    "staff": {"to": "Person", "toMany": true, "inverse": "boss"}}}}}
        """

    /// The new content of a line.
    enum Change: String, CaseIterable, Sendable {
        case unreadable = "{"
        case blank = ""
        case entity = #"{"entity": "Team", "id": "Team/3", "values": {"label": "C"}}"#
        case id =
            #"{"entity": "Person", "id": "Person/2", "values": {"label": "C", "boss": "Person/4"}}"#
        case noID = #"{"entity": "Person", "values": {"label": "C"}}"#
    }

    private static func row(_ number: Int, _ boss: Int) -> String {
        #"{"entity": "Person", "id": "Person/\#(number)", "values": {"label": "\#(number)", "boss": "Person/\#(boss)"}}"#
    }

    @Test(arguments: Change.allCases)
    func `a row that changes before it is inserted is rejected`(_ change: Change) throws {
        let (run, rejects) = try importing(change) {
            if case .insert = $0 { true } else { false }
        }
        expect(run, 1, "imported 3 objects of Person", "1 row was rejected")
        #expect(rejects.map { $0["line"]?.int } == [3])
        #expect(rejects.map { $0["by"]?.string } == ["reader"])
        #expect(rejects.first?["error"]?.string?.contains("leave the file unchanged") == true)
        #expect(try bosses() == ["1": "2", "2": "1", "4": "2"])
    }

    @Test(arguments: Change.allCases)
    func `a row that changes before its links are set is imported without them`(_ change: Change)
        throws
    {
        let (run, rejects) = try importing(change) {
            if case .insert(let rows) = $0 { !rows.rows.isEmpty } else { false }
        }
        expect(run, 1, "imported 4 objects of Person", "1 row was rejected")
        #expect(rejects.map { $0["line"]?.int } == [3])
        #expect(rejects.map { $0["by"]?.string } == ["links"])
        #expect(
            rejects.first?["error"]?.string?.hasPrefix("imported without its links: ") == true)
        #expect(try bosses() == ["1": "2", "2": "1", "3": "nobody", "4": "2"])
    }

    /// Imports four people, and changes the third line before the first message for which `isDue`
    /// returns true reaches the daemon.
    private func importing(
        _ change: Change, _ isDue: @escaping @Sendable (ClientMessage) -> Bool
    ) throws -> (run: CommandRun, rejects: [JSON]) {
        let rows = [Self.row(1, 2), Self.row(2, 1), Self.row(3, 1), Self.row(4, 2)]
        let path = try file("rows.ndjson", rows.joined(separator: "\n") + "\n")
        let start = UInt64(rows[0].utf8.count + rows[1].utf8.count + 2)
        let text = change.rawValue.padding(
            toLength: rows[2].utf8.count, withPad: " ", startingAt: 0)
        let isChanged = Locked(false)
        let relay = try RefusingRelay(place.path + "/relay", to: place.socket)
        relay.beforeForwarding { message in
            guard isDue(message) else { return }
            try isChanged.withLock { isChanged in
                guard !isChanged else { return }
                try RealFileSystem().open(path, .readWrite).write(Array(text.utf8), at: start)
                isChanged = true
            }
        }
        let run = try CommandRun("tandem", ["import", path, "--socket", relay.path])
        let lines = try? String(contentsOfFile: path + ".rejects", encoding: .utf8)
        let rejects = try (lines ?? "").split(separator: "\n").map { try JSON(parsing: String($0)) }
        return (run, rejects)
    }

    /// Returns the label of each person's boss, by the person's label.
    private func bosses() throws -> [String: String] {
        let rows = try tandem("fetch", "Person", "--select", "label,boss.label", "-o", "json").json
        return Dictionary(
            uniqueKeysWithValues: rows.map {
                ($0["label"]?.string ?? "?", $0["boss.label"]?.string ?? "nobody")
            })
    }

    @Test func `a row without an id whose link can't be set is rejected`() throws {
        let path = try file(
            "rows.ndjson",
            """
            {"entity": "Team", "values": {"label": "B", "parent": {"id": "Team/1", "key": {"label": "A"}}}}
            {"entity": "Team", "id": "Team/1", "values": {"label": "A"}}
            """)
        expect(try tandem("import", path), 1, "imported 1 object of Team", "1 row was rejected")
        let reject = try String(contentsOfFile: path + ".rejects", encoding: .utf8)
        #expect(reject.contains("import the rows without ids from a second file"), "\(reject)")
    }
}

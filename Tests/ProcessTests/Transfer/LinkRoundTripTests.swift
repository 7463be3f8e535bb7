import Foundation
import Glibc
import Tandem
import TandemIO
import TestSupport
import Testing

/// Links of an export, which refer to the same objects after an import.
///
/// Links are resolved by unique keys or, without a key, by the rows of the file, never by the
/// numbers of another store.
@Suite(.ownThread) struct LinkRoundTripTests: StoreSuite {
    let place: Place

    init() throws { place = try .serving(Self.model) }

    private static let model = """
        {"entities": {
            "Country": {"attributes": {"label": {"type": "string"}},
                "relationships": {"airports": {"to": "Airport", "toMany": true, "inverse": "country"}},
                "uniqueness": [["label"]]},
            "Airport": {"attributes": {"label": {"type": "string"}},
                "relationships": {"country": {"to": "Country", "inverse": "airports"},
                    "runways": {"to": "Runway", "toMany": true, "ordered": true, "inverse": "airport"}},
                "uniqueness": [["label"]]},
            "Runway": {"attributes": {"label": {"type": "string"}},
                "relationships": {"airport": {"to": "Airport", "inverse": "runways", "optional": false}}},
            "Person": {"attributes": {"label": {"type": "string"}},
                "relationships": {"boss": {"to": "Person", "inverse": "staff"},
                    "staff": {"to": "Person", "toMany": true, "inverse": "boss"},
                    "friends": {"to": "Person", "toMany": true, "inverse": "friendOf"},
                    "friendOf": {"to": "Person", "toMany": true, "inverse": "friends"},
                    "spouse": {"to": "Person", "inverse": "spouseOf"},
                    "spouseOf": {"to": "Person", "inverse": "spouse"},
                    "home": {"to": "Country", "inverse": "people"}}}}}
        """.replacing(
            #""inverse": "country"}},"#,
            with:
                #""inverse": "country"}, "people": {"to": "Person", "toMany": true, "inverse": "home"}},"#
        )

    /// Returns the rows of a random graph, with ids of their own.
    ///
    /// The graph has `count` people, and `few` objects of each other entity.
    private func rows(_ count: Int, few: Int? = nil) -> [String] {
        var random = SplitMix64(seed: seed)
        func any(_ entity: String, _ count: Int) -> String {
            "\"\(entity)/\(Int.random(in: 1...count, using: &random))\""
        }
        let few = few ?? max(1, count / 20)
        var rows: [String] = []
        func add(_ entity: String, _ number: Int, _ values: String) {
            rows.append(
                #"{"entity": "\#(entity)", "id": "\#(entity)/\#(number)", "values": {"label": "\#(entity) \#(number)"\#(values)}}"#
            )
        }
        for number in 1...few { add("Country", number, "") }
        for number in 1...few { add("Airport", number, #", "country": \#(any("Country", few))"#) }
        for number in 1...few { add("Runway", number, #", "airport": \#(any("Airport", few))"#) }
        for number in 1...count {
            let spouse =
                number % 3 == 0 && number < count ? #", "spouse": "Person/\#(number + 1)""# : ""
            let friends = (0..<number % 4).map { _ in any("Person", count) }
            add(
                "Person", number,
                #", "boss": \#(any("Person", count)), "home": \#(any("Country", few)), "friends": [\#(friends.joined(separator: ", "))]\#(spouse)"#
            )
        }
        return rows.shuffled(using: &random)
    }

    /// Returns all objects by label, with links as labels, except objects whose label begins with
    /// `other`.
    private func world(_ place: Place) throws -> [String: JSON] {
        let rows = try CommandRun("tandem", ["export", "--socket", place.socket]).json
        var labels: [String: String] = [:]
        for row in rows {
            labels[row["id"]?.string ?? ""] = row["values"]?["label"]?.string
        }
        func label(_ link: JSON) -> JSON {
            .string(labels[link.string ?? link["id"]?.string ?? ""] ?? "nothing")
        }
        var world: [String: JSON] = [:]
        for row in rows {
            guard let name = row["values"]?["label"]?.string, !name.hasPrefix("other") else {
                continue
            }
            #expect(world[name] == nil, "\(name) twice")
            world[name] = .object(
                (row["values"]?.object ?? [:]).filter { $0.key != "label" }.mapValues { value in
                    if value == .null { return value }
                    guard let list = value.array?.map(label) else { return label(value) }
                    return .array(list)
                })
        }
        // The order of members matters only if the model declares it.
        return world.mapValues { row in
            .object(
                Dictionary(
                    uniqueKeysWithValues: (row.object ?? [:]).map { name, value in
                        guard let list = value.array, name != "runways" else {
                            return (name, value)
                        }
                        return (name, .array(list.sorted { $0.text < $1.text }))
                    }))
        }
    }

    @Test(arguments: ["empty", "filled"])
    func `a complete export is the same graph after an import into any store`(_ kind: String) throws
    {
        let count = Volume.of(150, deep: 180_000)
        let path = try file("rows.ndjson", rows(count).joined(separator: "\n") + "\n")
        let first = try tandem("import", path)
        expect(first, 0, "imported \(count) objects of Person")
        let before = try world(place)
        #expect(before.values.contains { $0["spouse"] != .null && $0["spouse"] != nil })
        let exported = try file("export.ndjson", try tandem("export").output)
        let other = try Place.serving(Self.model)
        if kind == "filled" {
            // The object numbers of both stores begin with 1.
            let rows = (1...50).map { number in
                let entity = ["Country", "Airport", "Person"][number % 3]
                return #"{"entity": "\#(entity)", "values": {"label": "other \#(number)"}}"#
            }
            let path = try file("others.ndjson", rows.joined(separator: "\n"))
            expect(try CommandRun("tandem", ["import", path, "--socket", other.socket]), 0)
        }
        let run = try CommandRun("tandem", ["import", exported, "--socket", other.socket])
        expect(run, 0, "imported \(count) objects of Person")
        #expect(try world(other) == before)
        #expect(!FileManager.default.fileExists(atPath: exported + ".rejects.ids"))
    }

    @Test(arguments: ["ndjson", "csv"])
    func `a link with a unique key refers to the object with this key`(_ format: String) throws {
        let path = try file(
            "rows.ndjson",
            """
            {"entity": "Country", "id": "Country/1", "values": {"label": "A \\"a\\""}}
            {"entity": "Airport", "id": "Airport/1", "values": {"label": "X1", "country": "Country/1"}}
            {"entity": "Person", "id": "Person/1", "values": {"label": "P", "boss": "Person/1"}}
            """)
        expect(try tandem("import", path), 0)
        func export(_ entity: String) throws -> String {
            try file("\(entity).\(format)", try tandem("export", entity, "-o", format).output)
        }
        let (airports, people) = (try export("Airport"), try export("Person"))
        let other = try Place.serving(Self.model)
        func elsewhere(_ arguments: String...) throws -> CommandRun {
            try CommandRun("tandem", arguments + ["--socket", other.socket])
        }
        let countries = ["Z", "A \\\"a\\\""].map {
            #"{"entity": "Country", "values": {"label": "\#($0)"}}"#
        }
        expect(
            try elsewhere(
                "import", try file("countries.ndjson", countries.joined(separator: "\n"))), 0)
        expect(try elsewhere("import", airports, "--entity", "Airport"), 0)
        #expect(try world(other)["X1"]?["country"] == .string(#"A "a""#))
        // Without a key, a link refers only to rows of the file.
        expect(try elsewhere("import", people, "--entity", "Person"), 0)
        #expect(try world(other)["P"]?["boss"] == .string("P"))
        let lone = try file(
            "lone.ndjson",
            #"{"entity": "Person", "id": "Person/9", "values": {"boss": "Person/3"}}"#)
        expect(try elsewhere("import", lone), 1, "1 row was rejected")
        let reject = try String(contentsOfFile: lone + ".rejects", encoding: .utf8)
        #expect(reject.contains("Person/3 is not in the file and has no unique key"))
    }

    @Test func `law 3: a killed import of links creates the same graph when it is resumed`()
        throws
    {
        let path = try file(
            "rows.ndjson", rows(Volume.of(1_050, deep: 4_000)).joined(separator: "\n") + "\n")
        expect(try tandem("import", path), 0)
        let before = try world(place)
        let other = try Place.serving(Self.model)
        let options = ["import", path, "--id", "mine", "--socket", other.socket]
        let child = try ChildProcess.start(
            DaemonProcess.products + "/tandem", options, output: .null)
        while try CommandRun("tandem", ["count", "Person", "--socket", other.socket]).output
            == "0\n", child.status == nil
        {}
        child.kill()
        child.wait()
        expect(try CommandRun("tandem", options), 0, "objects of Person")
        #expect(try world(other) == before)
        // Another run leaves the links as they are.
        expect(try CommandRun("tandem", options), 0)
        #expect(try world(other) == before)
    }

    @Test(arguments: [true, false])
    func `law 3: an import killed at any message creates the same graph when it is resumed`(
        _ isForwarded: Bool
    ) throws {
        // More people than a transaction has, so that both the rows and the links are sent in
        // several messages.
        let (people, few) = Volume.of((1_001, 20), deep: (1_100, 55))
        let lines = rows(people, few: few)
        let path = try file("rows.ndjson", lines.joined(separator: "\n") + "\n")
        expect(try tandem("import", path), 0)
        let before = try world(place)
        let filled = try filledStore()
        // Some of the messages, different ones for each seed and each case; all of them in a deep
        // run.
        let step = Volume.of(28, deep: 1)
        var number = 1 + Int(seed % UInt64(step))
        if !isForwarded { number = (number + step / 2 - 1) % step + 1 }
        var kills = 0
        while true {
            let other = try Place()
            try FileManager.default.copyItem(atPath: filled.store, toPath: other.store)
            try other.serve()
            let run = try KilledImport(
                [path, "--id", "mine"],
                relay: try RefusingRelay(other.path + "/relay", to: other.socket),
                before: number, isForwarded: isForwarded)
            guard run.isKilled else {
                #expect(run.messages >= 8 && kills >= 2, "\(run.messages) messages")
                break
            }
            kills += 1
            let options = ["import", path, "--id", "mine", "--socket", other.socket]
            expect(try CommandRun("tandem", options), 0)
            #expect(try world(other) == before, "killed at message \(number)")
            #expect(!FileManager.default.fileExists(atPath: path + ".rejects.ids"))
            number += step
        }
    }

    /// Returns a store with 50 other objects, whose daemon has ended.
    private func filledStore() throws -> Place {
        let place = try Place()
        let daemon = try place.serve()
        try place.install(Self.model)
        let rows = (1...50).map { number in
            let entity = ["Country", "Airport", "Person"][number % 3]
            return #"{"entity": "\#(entity)", "values": {"label": "other \#(number)"}}"#
        }
        let path = try file("others.ndjson", rows.joined(separator: "\n"))
        expect(try CommandRun("tandem", ["import", path, "--socket", place.socket]), 0)
        #expect(daemon.end(SIGTERM) == 0)
        return place
    }

    @Test func `refused links of some rows do not affect the links of other rows`() throws {
        let model = """
            {"entities": {"Person": {"attributes": {"label": {"type": "string"}},
                "relationships": {"boss": {"to": "Person", "inverse": "staff"},
                    "staff": {"to": "Person", "toMany": true, "inverse": "boss", "max": 1}}}}}
            """
        expect(try tandem("schema", "apply", try file("model.json", model)), 0)
        // Two rows of the second save have the same boss.
        let count = Volume.of(1_040, deep: 2_500)
        let rows = (1...count).map { number in
            let boss = number == 1_030 ? 1_010 : number % count + 1
            return
                #"{"id": "Person/\#(number)", "values": {"label": "\#(number)", "boss": "Person/\#(boss)"}}"#
        }
        let path = try file("rows.ndjson", rows.joined(separator: "\n"))
        expect(try tandem("import", path), 1, "1 row was rejected")
        let reject = try String(contentsOfFile: path + ".rejects", encoding: .utf8)
        #expect(reject.contains("imported without its links"), "\(reject)")
        #expect(reject.contains(#""line":1030"#), "\(reject)")
        let exported = try tandem("export").json
        var labels: [String: String] = [:]
        for row in exported { labels[row["id"]?.string ?? ""] = row["values"]?["label"]?.string }
        #expect(exported.count == count)
        for row in exported {
            let number = row["values"]?["label"]?.string.flatMap { Int($0) } ?? 0
            let boss = row["values"]?["boss"]?.string.flatMap { labels[$0] }
            #expect(boss == (number == 1_030 ? nil : "\(number % count + 1)"), "\(number)")
        }
    }
}

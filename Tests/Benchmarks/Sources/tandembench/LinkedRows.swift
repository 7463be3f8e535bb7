import TandemIO

/// Files of linked rows, as input for the tool's import.
///
/// The graph is that of the round-trip tests: people, linked to each other and to countries, and
/// countries, airports and runways, each a twentieth of the number of people. So three kinds of
/// links are measured: links by a unique key, links within an entity, and ordered links.
struct LinkedRows {
    let folder: String
    /// The number of people.
    let n: Int
    private var generator = SplitMix64(46)
    private var few: Int { max(1, n / 20) }

    init(folder: String, n: Int) {
        self.folder = folder
        self.n = n
    }

    /// Writes `model.json`, `rows.ndjson` with the rows in random order, and `others.ndjson` with
    /// as many people, countries and airports, which have no links.
    mutating func run() throws {
        try write("model.json", [Self.model])
        var rows = self.rows()
        for index in rows.indices.reversed() { rows.swapAt(index, generator.below(index + 1)) }
        try write("rows.ndjson", rows)
        let entities = [("Country", few), ("Airport", few), ("Person", n + few)]
        try write(
            "others.ndjson",
            entities.flatMap { entity, count in
                (1...count).map {
                    #"{"entity":"\#(entity)","values":{"label":"other \#(entity) \#($0)"}}"#
                }
            })
    }

    private mutating func rows() -> [String] {
        var rows: [String] = []
        for number in 1...few { rows.append(row("Country", number, "")) }
        for number in 1...few {
            rows.append(row("Airport", number, #","country":\#(any("Country", few))"#))
        }
        for number in 1...few {
            rows.append(row("Runway", number, #","airport":\#(any("Airport", few))"#))
        }
        for number in 1...n { rows.append(person(number)) }
        return rows
    }

    private mutating func person(_ number: Int) -> String {
        var links = #","boss":\#(any("Person", n)),"home":\#(any("Country", few))"#
        var friends: [String] = []
        for _ in 0..<number % 4 { friends.append(any("Person", n)) }
        links += #","friends":[\#(friends.joined(separator: ","))]"#
        if number % 3 == 0, number < n { links += #","spouse":"Person/\#(number + 1)""# }
        return row("Person", number, links)
    }

    private func row(_ entity: String, _ number: Int, _ links: String) -> String {
        #"{"entity":"\#(entity)","id":"\#(entity)/\#(number)","values":{"label":"\#(entity) \#(number)"\#(links)}}"#
    }

    private mutating func any(_ entity: String, _ count: Int) -> String {
        "\"\(entity)/\(generator.below(count) + 1)\""
    }

    private func write(_ name: String, _ lines: [String]) throws {
        let file = try RealFileSystem().open(folder + "/" + name, .createNew)
        defer { file.close() }
        let bytes = Array((lines.joined(separator: "\n") + "\n").utf8)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
    }

    private static let model = """
        {"entities": {
            "Country": {"attributes": {"label": {"type": "string"}},
                "relationships": {"airports": {"to": "Airport", "toMany": true, "inverse": "country"},
                    "people": {"to": "Person", "toMany": true, "inverse": "home"}},
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
        """
}

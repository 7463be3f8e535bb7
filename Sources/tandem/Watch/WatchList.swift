import Tandem

/// A row of a watched list.
struct WatchRow: Equatable {
    var id: ObjectID
    var values: [String: JSON]

    /// The values, sorted by name.
    var text: String {
        values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.shown)" }
            .joined(separator: " ")
    }

    /// The members of the row's JSON object.
    var members: [String: JSON] {
        ["object": .string(id.description), "values": .object(values)]
    }
}

/// A snapshot of a watched list.
struct WatchList: Equatable {
    /// A section of the list.
    struct Section: Equatable {
        var name: String
        var rows: [WatchRow]
    }

    var title: String
    var hasSections: Bool
    var position: UInt64
    var sections: [Section]

    /// The number of rows and sections as text.
    var count: String {
        Self.count(
            rows: sections.reduce(0) { $0 + $1.rows.count },
            sections: hasSections ? sections.count : nil)
    }

    /// Returns a string such as `32 objects in 5 sections`.
    static func count(rows: Int, sections: Int?) -> String {
        let objects = "\(rows) object\(rows == 1 ? "" : "s")"
        guard let sections else { return objects }
        return "\(objects) in \(sections) section\(sections == 1 ? "" : "s")"
    }

    /// A line for the whole list, and one for each row.
    var lines: [String] {
        ["\(position): \(title): \(count)"]
            + sections.flatMap { section in
                section.rows.enumerated().map { index, row in
                    let place = WatchChange.place(section.name, index, hasSections)
                    return "\(position): \(place): \(row.id) \(row.text)".trimmed
                }
            }
    }

    /// The whole list as a JSON object.
    var json: JSON {
        .object([
            "event": .string("list"), "position": .int(Int64(clamping: position)),
            "sections": .array(
                sections.map { section in
                    .object([
                        "name": .string(section.name),
                        "objects": .array(section.rows.map { .object($0.members) }),
                    ])
                }),
        ])
    }
}

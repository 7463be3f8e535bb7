import Tandem

/// The effect of one change on a watched list.
struct WatchChange {
    var position: UInt64
    /// The time between the save and its display, if known.
    var lagMicroseconds: Int64?
    /// The current names of the sections.
    var sectionNames: [String] = []
    private var change: ControllerChange?
    private var rows: [ObjectNumber: WatchRow] = [:]

    /// Creates an empty change.
    init(position: UInt64) { self.position = position }

    init(_ change: ControllerChange, rows: [ObjectNumber: WatchRow]) {
        position = change.position.number
        self.change = change
        self.rows = rows
    }

    /// Returns the location of a row: `Africa 3`, or `3` in a list without sections.
    static func place(_ section: String, _ item: Int, _ hasSections: Bool) -> String {
        hasSections ? "\(section) \(item + 1)" : "\(item + 1)"
    }

    /// The path of the first row that was inserted, moved or updated.
    var firstPath: ResultsIndexPath? { change?.change.objects.compactMap(\.to).min() }

    /// The marks to show before changed rows, by the number of the object.
    var marks: [ObjectNumber: String] {
        var marks: [ObjectNumber: String] = [:]
        for object in change?.change.objects ?? [] {
            guard let to = object.to else { continue }
            guard let from = object.from else {
                marks[object.number] = "+"
                continue
            }
            marks[object.number] = to < from ? "▲" : to > from ? "▼" : "●"
        }
        return marks
    }

    // MARK: Lines

    /// A line for each inserted or deleted section and each changed object.
    var lines: [String] {
        guard let change else { return [] }
        let sections = change.change.sections.map { section in
            switch section {
            case .delete(_, let name): "\(position): section \(name) was removed"
            case .insert(_, let name): "\(position): section \(name) is new"
            }
        }
        return sections + change.change.objects.map { "\(position): \(line($0, change))".trimmed }
    }

    private func line(_ object: ResultsChange.ObjectChange, _ change: ControllerChange) -> String {
        let id = change.id(of: object)
        let text = rows[object.number].map { ": \($0.text)" } ?? ""
        switch (object.from, object.to) {
        case (_, nil): return "\(id) left"
        case (nil, .some(let to)): return "\(id) is new, \(place(to))\(text)"
        case (.some(let from), .some(let to)) where isMove(object):
            return "\(id) moved to \(place(to)), was \(from.item + 1)\(text)"
        case (.some, .some(let to)): return "\(id) changed, \(place(to))\(text)"
        }
    }

    private func isMove(_ object: ResultsChange.ObjectChange) -> Bool {
        if case .move = object { true } else { false }
    }

    private func place(_ path: ResultsIndexPath) -> String {
        let name = path.section < sectionNames.count ? sectionNames[path.section] : ""
        return Self.place(name, path.item, !name.isEmpty)
    }

    // MARK: JSON

    /// The change as a JSON object, with the keys of the bridge's events.
    var json: JSON {
        guard let change else { return .null }
        return .object([
            "event": .string("change"), "position": .int(Int64(clamping: position)),
            "lagMilliseconds": lagMicroseconds.map { .double(Double($0) / 1_000) } ?? .null,
            "sections": .array(
                change.change.sections.map { section in
                    let (type, index, name) =
                        switch section {
                        case .delete(let index, let name): ("delete", index, name)
                        case .insert(let index, let name): ("insert", index, name)
                        }
                    return .object([
                        "type": .string(type), "index": .int(Int64(index)), "name": .string(name),
                    ])
                }),
            "objects": .array(change.change.objects.map { json($0, change) }),
        ])
    }

    private func json(_ object: ResultsChange.ObjectChange, _ change: ControllerChange) -> JSON {
        let type =
            switch object {
            case .insert: "insert"
            case .delete: "delete"
            case .move: "move"
            case .update: "update"
            }
        var members = rows[object.number]?.members ?? [:]
        members["type"] = .string(type)
        members["object"] = .string(change.id(of: object).description)
        members["from"] = object.from.map(Self.json)
        members["to"] = object.to.map(Self.json)
        return .object(members)
    }

    private static func json(_ path: ResultsIndexPath) -> JSON {
        .array([.int(Int64(path.section)), .int(Int64(path.item))])
    }
}

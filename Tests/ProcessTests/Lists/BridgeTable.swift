import TandemModel
import TestWorlds
import Testing

/// What a bridge writes of lists, as a table has it.
enum BridgeTable {
    /// The number of an object id.
    static func number(_ id: JSON?) throws -> UInt64 {
        let text = try #require(id?.string)
        return try #require(text.split(separator: "/").last.flatMap { UInt64($0) })
    }

    /// The sections of an answer to `open` or `sections`.
    static func sections(_ answer: JSON) throws -> [TableSection] {
        try #require(answer["sections"]?.array).map { section in
            let rows = try #require(section["objects"]?.array).map { try number($0) }
            return TableSection(try #require(section["name"]?.string), rows)
        }
    }

    /// A `change` event.
    static func change(_ event: JSON) throws -> TableChange {
        TableChange(
            sections: try (event["sections"]?.array ?? []).map { section in
                let type = try #require(section["type"]?.string)
                try #require(["insert", "delete"].contains(type))
                return TableChange.Section(
                    isInsert: type == "insert", index: Int(try #require(section["index"]?.int)),
                    name: try #require(section["name"]?.string))
            },
            rows: try (event["objects"]?.array ?? []).map { object in
                let type = try #require(object["type"]?.string)
                return TableChange.Row(
                    try #require(TableChange.Kind(rawValue: type)), try number(object["object"]),
                    from: try place(object["from"]), to: try place(object["to"]))
            })
    }

    private static func place(_ json: JSON?) throws -> TableChange.Path? {
        guard let numbers = json?.array?.compactMap({ $0.int.map { Int($0) } }) else { return nil }
        try #require(numbers.count == 2)
        return TableChange.Path(numbers[0], numbers[1])
    }
}

/// One who looks at lists through a bridge, in one of the ways in which a list hears of saves.
final class BridgeViewer {
    /// The context that saves too, another one of its process, one of another process, and one that misses saves and merges
    /// them at once.
    enum Way: String, CaseIterable { case own, sibling, other, late }

    let way: Way
    let bridge: BridgeProcess
    var context: String { way == .own || way == .other ? "main" : way.rawValue }

    init(_ way: Way, _ bridge: BridgeProcess) throws {
        self.way = way
        self.bridge = bridge
        // Merges unprompted from now on.
        if way == .sibling { try bridge.ask(#"{"do": "resume", "context": "sibling"}"#) }
    }

    /// The name of its controller for a list.
    func name(_ list: Int) -> String { "\(way.rawValue)\(list)" }

    /// Merges up to a position.
    func reach(_ position: Int64) throws {
        try bridge.ask(
            #"{"do": "reach", "position": \#(position), "context": "\#(context)"}"#)
    }

    /// Opens a controller; `request` is the rest of the members.
    @discardableResult
    func open(_ name: String, _ request: String) throws -> [TableSection] {
        try BridgeTable.sections(
            bridge.ask(
                #"{"do": "open", "controller": "\#(name)", "context": "\#(context)", \#(request)}"#
            ))
    }

    /// The answer to `sections`: the list, or the code of the error.
    func sections(_ name: String) throws -> Result<[TableSection], BridgeRefusal> {
        let answer = try bridge.answer(#"{"do": "sections", "controller": "\#(name)"}"#)
        if let code = answer["error"]?["code"]?.string { return .failure(BridgeRefusal(code)) }
        return .success(try BridgeTable.sections(try #require(answer["ok"])))
    }
}

/// The code of an error answer.
struct BridgeRefusal: Error, Equatable {
    var code: String

    init(_ code: String) { self.code = code }
}

/// The four ways: two bridges of a daemon, and what they wrote of each controller.
final class BridgeViewers {
    let viewers: [BridgeViewer]
    private var events: [String: [JSON]] = [:]

    init(_ daemon: BridgedDaemon, cachedRows: Int? = nil) throws {
        let (one, two) = try (
            BridgeProcess(daemon.place.socket, author: "one", cachedRows: cachedRows),
            BridgeProcess(daemon.place.socket, author: "two", cachedRows: cachedRows)
        )
        viewers = try [
            BridgeViewer(.own, one), BridgeViewer(.sibling, one), BridgeViewer(.other, two),
            BridgeViewer(.late, two),
        ]
    }

    /// Takes in what was written, and hands out what is about one controller.
    func take(_ name: String) -> [JSON] {
        for viewer in [viewers[0], viewers[2]] {
            for event in viewer.bridge.takeEvents() {
                guard let controller = event["controller"]?.string else { continue }
                events[controller, default: []].append(event)
            }
        }
        return events.removeValue(forKey: name) ?? []
    }

    /// The one change among the events of a controller; a sentence if they are something else.
    static func change(_ events: [JSON]) throws -> Result<TableChange?, BridgeRefusal> {
        guard events.count < 2 else {
            return .failure(BridgeRefusal("\(events.count) events for one merge"))
        }
        guard let event = events.first else { return .success(nil) }
        guard event["event"]?.string == "change" else {
            return .failure(BridgeRefusal("\(event.text)"))
        }
        return .success(try BridgeTable.change(event))
    }
}

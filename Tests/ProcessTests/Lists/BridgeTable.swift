import TandemModel
import TestSupport
import TestWorlds
import Testing

/// Functions that decode a bridge's list answers and list events.
enum BridgeTable {
    /// Returns the number of an object id.
    static func number(_ id: JSON?) throws -> UInt64 {
        let text = try #require(id?.string)
        return try #require(text.split(separator: "/").last.flatMap { UInt64($0) })
    }

    /// Returns the sections of an answer to `open` or `sections`.
    static func sections(_ answer: JSON) throws -> [TableSection] {
        try #require(answer["sections"]?.array).map { section in
            let rows = try #require(section["objects"]?.array).map { try number($0) }
            return TableSection(try #require(section["name"]?.string), rows)
        }
    }

    /// Returns the change of a `change` event.
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

/// A viewer of lists through a bridge, in one of the four ways in which a list receives saves.
final class BridgeViewer {
    /// The kinds of contexts, by how they receive saves.
    ///
    /// - `own`: The context also saves.
    /// - `sibling`: Another context of the same process saves.
    /// - `other`: A context of another process saves.
    /// - `late`: The context misses some saves and merges them together later.
    enum Way: String, CaseIterable { case own, sibling, other, late }

    let way: Way
    let bridge: BridgeProcess
    var context: String { way == .own || way == .other ? "main" : way.rawValue }

    init(_ way: Way, _ bridge: BridgeProcess) throws {
        self.way = way
        self.bridge = bridge
        // From now on the context merges automatically.
        if way == .sibling { try bridge.ask(#"{"do": "resume", "context": "sibling"}"#) }
    }

    /// Returns the name of the viewer's controller for a list.
    func name(_ list: Int) -> String { "\(way.rawValue)\(list)" }

    /// Merges the saves up to a position.
    func reach(_ position: Int64) throws {
        try bridge.ask(
            #"{"do": "reach", "position": \#(position), "context": "\#(context)"}"#)
    }

    /// Opens a controller and returns its sections; `request` has the remaining JSON members.
    @discardableResult
    func open(_ name: String, _ request: String) throws -> [TableSection] {
        try BridgeTable.sections(
            bridge.ask(
                #"{"do": "open", "controller": "\#(name)", "context": "\#(context)", \#(request)}"#
            ))
    }

    /// Returns the sections of a controller, or the code of the error.
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

/// The viewers of all four ways on two bridges, and the events of each controller.
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

    /// Reads the pending events of both bridges, and removes and returns those of one controller.
    func drain(_ name: String) -> [JSON] {
        for viewer in [viewers[0], viewers[2]] {
            for event in viewer.bridge.drainEvents() {
                guard let controller = event["controller"]?.string else { continue }
                events[controller, default: []].append(event)
            }
        }
        return events.removeValue(forKey: name) ?? []
    }

    /// Returns the only change among a controller's events, or nil if there are no events.
    ///
    /// Returns a failure with a description if the events are anything else.
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

import TandemIO
import TandemModel
import Testing

/// A `tandem bridge` of this build in a process of its own, and its output.
final class BridgeProcess {
    private let child: ChildProcess
    private let lines: StandardInput
    private var lastID: Int64 = 0
    /// The events that were read but not yet returned to the test.
    private var events: [JSON] = []

    /// Starts a bridge.
    ///
    /// `debug` is the path of a file for its debug trace; its cached lists are stored next to that
    /// file.
    init(
        _ socket: String, author: String = "bridge", cachedRows: Int? = nil, debug: String? = nil
    ) throws {
        let cache = cachedRows.map { ["--cached-rows", "\($0)"] } ?? []
        let shell = debug.map {
            [
                "/bin/sh", "-c",
                "XDG_CACHE_HOME='\($0)-caches' TANDEM_DEBUG=1 exec \"$0\" \"$@\" 2>>'\($0)'",
            ]
        }
        let words =
            (shell ?? []) + [
                DaemonProcess.products + "/tandem", "bridge", "--socket", socket, "--author",
                author,
            ] + cache
        child = try ChildProcess.start(
            words[0], Array(words.dropFirst()), input: .pipe, output: .pipe)
        lines = StandardInput(descriptor: try #require(child.output))
    }

    var processID: Int32 { child.processID }

    /// Writes a line unchanged.
    func write(_ line: String) { child.write(line + "\n") }

    /// Returns the next line that the bridge writes.
    func read() throws -> JSON {
        try #require(try readUnlessEnded(), "the bridge ended")
    }

    /// Returns the next line, or nil if the bridge has ended, even in the middle of a line.
    func readUnlessEnded() throws -> JSON? {
        guard let line = try lines.readLine() else { return nil }
        do {
            return try JSON(parsing: String(decoding: line, as: UTF8.self))
        } catch {
            if try lines.readLine() == nil { return nil }
            throw error
        }
    }

    /// Sends a request, without its id, and returns the whole answer; events before it are kept.
    func answer(_ request: String) throws -> JSON {
        try #require(try answerUnlessEnded(try JSON(parsing: request)), "the bridge ended")
    }

    /// Like ``answer(_:)``, but returns nil if the bridge ends first.
    func answerUnlessEnded(_ request: JSON) throws -> JSON? {
        try send(request)
        while let json = try readUnlessEnded() {
            if json["id"] == .int(lastID) { return json }
            events.append(json)
        }
        return nil
    }

    /// Sends a request, without its id.
    func send(_ request: String) throws { try send(try JSON(parsing: request)) }

    private func send(_ request: JSON) throws {
        lastID += 1
        var members = try #require(request.object)
        members["id"] = .int(lastID)
        write(JSON.object(members).text)
    }

    /// Sends a request that must succeed, and returns the result.
    @discardableResult
    func ask(_ request: String, _ place: SourceLocation = #_sourceLocation) throws -> JSON {
        let answer = try answer(request)
        return try #require(answer["ok"], "\(answer)", sourceLocation: place)
    }

    /// Sends a request that must fail, and returns the error code.
    func refusal(_ request: String) throws -> String? {
        try answer(request)["error"]?["code"]?.string
    }

    /// Returns and removes the events that were read before the answers so far.
    func drainEvents() -> [JSON] {
        defer { events = [] }
        return events
    }

    /// Returns the next event, and waits for it if necessary.
    func event() throws -> JSON { events.isEmpty ? try read() : events.removeFirst() }

    /// Closes the bridge's input and waits for its end; lines that it still writes are kept as
    /// events.
    func finish() throws -> ChildProcess.Status {
        child.closeInput()
        while let line = try lines.readLine() {
            events.append(try JSON(parsing: String(decoding: line, as: UTF8.self)))
        }
        return child.wait()
    }

    /// Sends SIGKILL and waits until the bridge has ended.
    func kill() {
        child.kill()
        child.wait()
    }

    /// Returns the unread output of a killed bridge, without a line that was cut off.
    func rest() throws -> [JSON] {
        while let line = try lines.readLine() {
            if let json = try? JSON(parsing: String(decoding: line, as: UTF8.self)) {
                events.append(json)
            }
        }
        return drainEvents()
    }
}

/// The model of the bridge tests.
let bridgeModel = """
    {"entities": {"Team": {"attributes": {"name": {"type": "string"}, "zone": {"type": "string"},
    "wins": {"type": "int", "default": 0}, "born": {"type": "date"}, "logo": {"type": "data"},
    "budget": {"type": "decimal"}, "mark": {"type": "uuid"}, "site": {"type": "url"},
    "isOut": {"type": "bool"}, "rate": {"type": "double"}}, "relationships": {
    "players": {"to": "Player", "inverse": "team", "toMany": true, "deleteRule": "cascade"},
    "tags": {"to": "Tag", "inverse": "teams", "toMany": true}}, "uniqueness": [["name"]]},
    "Club": {"parent": "Team"}, "Player": {"attributes": {"name": {"type": "string"}},
    "relationships": {"team": {"to": "Team", "inverse": "players"}}},
    "Tag": {"attributes": {"name": {"type": "string"}},
    "relationships": {"teams": {"to": "Team", "inverse": "tags", "toMany": true}}}}}
    """

extension JSON {
    /// Parses a JSON text.
    static func of(_ text: String) throws -> JSON { try JSON(parsing: text) }

    /// The object ids in the answer to a fetch.
    var ids: [String] { self["objects"]?.array?.compactMap { $0["id"]?.string } ?? [] }

    /// The values of the first object in the answer to a fetch.
    var firstValues: JSON? { self["objects"]?.array?.first?["values"] }
}

/// A daemon whose store has the model, and its place.
struct BridgedDaemon {
    let place: Place
    let daemon: DaemonProcess

    init(_ options: [String] = []) throws {
        place = try Place()
        daemon = try place.serve(options: options)
    }

    func bridge(_ author: String = "bridge") throws -> BridgeProcess {
        try BridgeProcess(place.socket, author: author)
    }

    /// Returns a bridge that has installed the model.
    func first(_ author: String = "bridge") throws -> BridgeProcess {
        let bridge = try bridge(author)
        try bridge.ask(#"{"do": "schema", "apply": \#(bridgeModel)}"#)
        _ = bridge.drainEvents()
        return bridge
    }
}

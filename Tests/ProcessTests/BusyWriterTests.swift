import Glibc
import TandemIO
import TandemModel
import Testing

/// Lists whose membership only the daemon can decide, under a stream of saves from another process.
@Suite(.ownThread, .serialized) struct BusyWriterTests {
    private static let teams = 12

    /// A client that saves without a pause until it is stopped, and keeps its first error.
    private final class Writer: Sendable {
        let isDone = Locked(false)
        let saves = Locked(0)
        let problem = Locked<String?>(nil)

        func run(_ socket: String) {
            do {
                let bridge = try BridgeProcess(socket, author: "busy")
                var round = 0
                while !isDone.withLock({ $0 }) {
                    try save(bridge, round)
                    round += 1
                    saves.withLock { $0 = round }
                }
                _ = try bridge.finish()
            } catch {
                problem.withLock { $0 = "\(error)" }
            }
        }

        /// Makes one player a star or an ordinary player, and moves it to another team.
        ///
        /// Teams enter and leave the list through their players alone.
        private func save(_ bridge: BridgeProcess, _ round: Int) throws {
            let player = BusyWriterTests.teams + 1 + round % BusyWriterTests.teams
            // In each lap, different players are stars, and every player moves to another team.
            let lap = round / BusyWriterTests.teams
            let team = 1 + (round * 7 + lap) % BusyWriterTests.teams
            let name = (round + lap) % 3 == 0 ? "star" : "other"
            try bridge.ask(
                #"""
                {"do": "save", "context": "w", "ops": [{"update": "Player/\#(player)",
                "set": {"name": "\#(name)", "team": "Team/\#(team)"}}]}
                """#)
        }
    }

    private func fill(_ bridge: BridgeProcess) throws {
        for entity in ["Team", "Player"] {
            let ops = (1...BusyWriterTests.teams).map {
                #"{"insert": "\#(entity)", "set": {"name": "n\#($0)"}}"#
            }
            try bridge.ask(#"{"do": "save", "ops": [\#(ops.joined(separator: ", "))]}"#)
        }
    }

    @Test
    func `laws 4 and 5: an ANY list keeps delivering under another process's stream of saves`()
        throws
    {
        let daemon = try BridgedDaemon()
        defer { daemon.daemon.end(SIGTERM) }
        let reader = try daemon.first("reader")
        try fill(reader)
        let list = #"""
            "entity": "Team", "where": "ANY players.name == 'star'", "sort": ["-name"]
            """#
        var shown = try ids(
            reader.ask(#"{"do": "open", "controller": "c", \#(list)}"#))
        let writer = Writer()
        let socket = daemon.place.socket
        let thread = try KernelThread.start(name: "writer") { writer.run(socket) }
        var last: Int64 = 0
        var changes = 0
        // Each change required a verdict, which the daemon completed while the writer continued.
        while changes < 150, writer.problem.withLock({ $0 }) == nil {
            let event = try reader.event()
            guard event["event"]?.string == "change" else { continue }
            let position = try #require(event["position"]?.int)
            #expect(position > last)
            last = position
            changes += 1
            try apply(event, &shown)
        }
        #expect(changes == 150)
        // A request during the stream is answered at a position that is never before the events'
        // positions.
        let open = try reader.ask(#"{"do": "open", "controller": "d", \#(list)}"#)
        #expect(try #require(open["position"]?.int) >= last)
        writer.isDone.withLock { $0 = true }
        thread.join()
        #expect(writer.problem.withLock { $0 } == nil)
        #expect(writer.saves.withLock { $0 } >= changes)
        let end = try reader.ask(#"{"do": "resume"}"#)
        for event in reader.drainEvents() where event["controller"]?.string == "c" {
            try apply(event, &shown)
        }
        #expect(try ids(reader.ask(#"{"do": "sections", "controller": "c"}"#)) == shown)
        #expect(try ids(reader.ask(#"{"do": "sections", "controller": "d"}"#)) == shown)
        let other = try daemon.bridge("fresh")
        let fresh = try other.ask(#"{"do": "fetch", \#(list)}"#)
        #expect(fresh.ids == shown && fresh["position"] == end["position"])
        #expect(try other.finish() == .exited(0))
        #expect(try reader.finish() == .exited(0))
    }

    private func ids(_ answer: JSON) throws -> [String] {
        try #require(answer["sections"]?.array?.first?["objects"]?.array).compactMap(\.string)
    }

    /// Applies a change by the rules of a table's batch update, for one section.
    private func apply(_ event: JSON, _ shown: inout [String]) throws {
        var gone: Set<String> = []
        var placed: [(place: Int, object: String)] = []
        for part in event["objects"]?.array ?? [] {
            let object = try #require(part["object"]?.string)
            let (from, to) = (place(part["from"]), place(part["to"]))
            if let from { try #require(shown.indices.contains(from) && shown[from] == object) }
            if part["type"]?.string == "update" { continue }
            if from != nil { gone.insert(object) }
            if let to { placed.append((to, object)) }
        }
        shown.removeAll(where: gone.contains)
        for (place, object) in placed.sorted(by: { $0.place < $1.place }) {
            try #require(place <= shown.count)
            shown.insert(object, at: place)
        }
    }

    private func place(_ path: JSON?) -> Int? { path?.array?.last?.int.map { Int($0) } }
}

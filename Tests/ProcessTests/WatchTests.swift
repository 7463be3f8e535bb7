import Foundation
import Tandem
import TandemIO
import TestSupport
import Testing

/// `tandem watch` with a daemon: lines and JSON in a pipe, a drawn list on a terminal.
@Suite(.ownThread) struct WatchTests {
    let place: Place

    init() throws {
        place = try Place()
        try place.serve()
    }

    private static let model = """
        {"entities": {"Team": {"attributes": {"name": {"type": "string"}, "wins": {"type": "int"},
            "zone": {"type": "string"}}}}}
        """

    /// A short sequence of saves: the initial teams, and four changes for a watcher.
    @MainActor private final class Story {
        let context: ManagedObjectContext
        private let container: PersistentContainer
        private var teams: [String: ManagedObject] = [:]

        init(_ place: Place) throws {
            container = PersistentContainer(
                model: try ManagedObjectModel(parsing: WatchTests.model), socket: place.socket,
                author: "seeder")
            context = container.makeContext(name: "seeds")
        }

        func add(_ name: String, _ zone: String, _ wins: Int64) throws {
            let team = try context.insert("Team")
            team["name"] = .string(name)
            team["zone"] = .string(zone)
            team["wins"] = .int(wins)
            teams[name] = team
        }

        func begin() throws {
            try add("Ghana", "Africa", 1)
            try add("Mali", "Africa", 2)
            try add("Malta", "Europe", 0)
            try context.save()
        }

        /// Saves one of four changes: an update, a move, a new section, or a removed section.
        func save(_ step: Int) throws -> Position {
            switch step {
            case 0: teams["Malta"]?["wins"] = .int(1)
            case 1: teams["Ghana"]?["wins"] = .int(3)
            case 2: try add("Tuvalu", "Oceania", 0)
            default: if let malta = teams["Malta"] { context.delete(malta) }
            }
            return try context.save()
        }
    }

    /// Returns a watcher's lines over all steps.
    ///
    /// Each save waits until the one before is shown, because a lagging watcher shows several at
    /// once.
    @MainActor private func read(
        _ reader: inout LineReader, _ story: Story, isShown: (String, Position) -> Bool
    ) throws -> [String] {
        var lines: [String] = []
        if let first = reader.next() { lines.append(first) }
        for step in 0..<4 {
            let position = try story.save(step)
            while let line = reader.next() {
                lines.append(line)
                if isShown(line, position) { break }
            }
        }
        while let line = reader.next() { lines.append(line) }
        return lines
    }

    @Test @MainActor func `watch ends when its reader is gone, without another save`() throws {
        let story = try Story(place)
        try story.begin()
        for sort in ["--sort=-wins", "--sort -wins"] {
            let run = try CommandRun(
                path: "/bin/sh",
                [
                    "-c",
                    "'\(DaemonProcess.products)/tandem' watch Team \(sort) --socket '\(place.socket)' | head -1",
                ])
            #expect(run.code == 0 && run.lines.count == 1, "\(run.output)")
        }
        let fetched = try CommandRun(
            "tandem", ["fetch", "Team", "--sort", "-wins", "--socket", place.socket])
        #expect(fetched.lines.first?.contains("name=Mali") ?? false, "\(fetched.output)")
        #expect(fetched.lines.last?.contains("name=Malta") ?? false)
    }

    private var arguments: [String] {
        ["watch", "Team", "--section", "zone", "--sort=-wins", "--socket", place.socket]
    }

    /// Runs a watcher over all steps, and returns its output.
    @MainActor private func watch(_ options: String...) throws -> String {
        let story = try Story(place)
        try story.begin()
        let watcher = try ChildProcess.start(
            DaemonProcess.products + "/tandem", arguments + options + ["--until", "6"],
            output: .pipe)
        var reader = LineReader(try #require(watcher.output))
        let lines = try read(&reader, story) { line, position in
            line.hasPrefix("\(position.number):")
                || line.contains("\"position\":\(position.number),")
        }
        #expect(watcher.wait() == .exited(0))
        return lines.map { $0 + "\n" }.joined()
    }

    @Test @MainActor func `each row is printed as a line, and then each change`() throws {
        try Golden.expect(try watch(), "watch.short")
    }

    @Test @MainActor func `JSON events have the change, its location and the current row`() throws {
        let lines = try watch("-o", "json").split(separator: "\n")
        let events = try lines.map { try JSON(parsing: String($0)) }
        #expect(
            events.map { $0["event"]?.string } == ["list"] + Array(repeating: "change", count: 4))
        #expect(events.map { $0["position"]?.int } == [2, 3, 4, 5, 6])
        try #require(events.count == 5)
        let sections = try #require(events[0]["sections"]?.array)
        #expect(sections.map { $0["name"]?.string } == ["Africa", "Europe"])
        let move = try #require(events[2]["objects"]?.array?.first)
        #expect(move["type"]?.string == "move" && move["object"]?.string == "Team/1")
        #expect(move["values"]?["wins"] == .int(3))
        #expect(move["to"] == .array([.int(0), .int(0)]))
        let gone = try #require(events[4]["sections"]?.array?.first)
        #expect(gone["type"]?.string == "delete" && gone["name"]?.string == "Europe")
        let lags = events.compactMap { $0["lagMilliseconds"]?.number }
        #expect(lags.allSatisfy { $0 >= 0 && $0 < 60_000 })
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed")) @MainActor
    func `on a terminal the list is drawn and changes are marked`() throws {
        let story = try Story(place)
        try story.begin()
        let command =
            "'\(DaemonProcess.products)/tandem' " + arguments.joined(separator: " ")
            + " --until 6 --color never"
        let watcher = try ChildProcess.start(
            "/usr/bin/env", ["TERM=xterm", "script", "-qec", command, "/dev/null"], output: .pipe)
        var reader = LineReader(try #require(watcher.output))
        let lines = try read(&reader, story) { line, position in
            line.contains("position \(position.number)")
        }
        let text = lines.joined(separator: "\n")
        watcher.wait()
        let screens = text.components(separatedBy: "\u{1b}[H")
        let last = try #require(screens.last)
        #expect(last.contains("Team: 3 objects in 2 sections, position 6"), "\(last)")
        #expect(last.contains("section Europe is gone") || last.contains("Team/3 left"), "\(last)")
        #expect(screens.contains { $0.contains("▲ Team/1") })
        #expect(screens.contains { $0.contains("● Team/3") })
        #expect(screens.contains { $0.contains("+ Team/") })
    }

    @Test @MainActor func `invalid input is reported before anything is shown`() throws {
        try Story(place).begin()
        func tandem(_ arguments: String...) throws -> CommandRun {
            try CommandRun("tandem", ["watch"] + arguments + ["--socket", place.socket])
        }
        for (run, part) in [
            (try tandem("Teem"), "no entity `Teem`"),
            (try tandem("Team", "--where", "wins >"), "offset 6"),
            (try tandem("Team", "--sort", "nope"), "nope"),
            (try tandem("Team", "--section", "nope"), "nope"),
            (try tandem("Team", "--properties", "name,nope"), "no property `nope`"),
            (try tandem("Team", "--until", "soon"), "not a position"),
        ] {
            #expect(run.code == 2, "\(run.output)")
            #expect(run.output.contains(part), "\(run.output)")
        }
    }
}

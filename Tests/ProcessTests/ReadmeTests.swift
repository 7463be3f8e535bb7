import FoundationEssentials
import Observation
import Tandem
import Testing

final class Team: ManagedObject, ManagedEntity {
    static var entity: Entity {
        Entity("Team", uniqueness: [["name"]]) {
            Attribute("name", .string, optional: false)
            Attribute("zone", .string, optional: false)
            Attribute("wins", .int, optional: false, default: .int(0))
        }
    }
    @Managed("name") var name: String
    @Managed("zone") var zone: String
    @Managed("wins") var wins: Int
}

@MainActor @Observable final class Standings {
    @ObservationIgnored
    @Query(where: \.wins > 0, sort: [.ascending(\.zone), .descending(\.wins)], sections: \.zone)
    var teams: FetchedResults<Team>

    init(_ source: ResultsSource<Team>) { teams.source = source }

    func draw() {
        withObservationTracking {
            for section in teams.sections {
                for team in section { print(section.id, team.name, team.wins) }
            }
        } onChange: {
            Task { @MainActor in self.draw() }
        }
    }
}

/// The lines that ``Standings`` has printed.
@MainActor private var drawn: [String] = []

@MainActor private func print(_ zone: String, _ name: String, _ wins: Int) {
    drawn.append("\(zone) \(name) \(wins)")
}

/// The README's app and the observed list of *Getting started*, with a daemon in a process of its
/// own.
@MainActor @Suite(.serialized) struct ReadmeTests {
    @Test func `the README's app adds a win each time it runs`() throws {
        let place = try Place()
        try place.serve()
        for wins in 1...2 {
            let container = PersistentContainer(
                entities: [Team.self], socket: place.socket, author: "example")
            defer { container.close() }
            drawn = []
            try runApp(container)
            #expect(drawn == ["Africa Cameroon \(wins)"])
        }
    }

    /// Runs the statements of the README's app that follow its container.
    private func runApp(_ container: PersistentContainer) throws {
        let context = container.viewContext

        let team =
            try context.fetch(Team.self, where: \.name == "Cameroon").first
            ?? context.insert(Team.self)
        team.name = "Cameroon"
        team.zone = "Africa"
        team.wins += 1
        try context.save()

        for team in try context.fetch(Team.self, where: \.zone == "Africa") {
            print(team.zone, team.name, team.wins)
        }
    }

    @Test func `a declared list is redrawn after each save of another process`() async throws {
        let place = try Place()
        try place.serve()
        let container = PersistentContainer(
            entities: [Team.self], socket: place.socket, author: "example")
        defer { container.close() }
        let context = container.viewContext
        for (name, zone, wins) in [("Cameroon", "Africa", 5), ("Ghana", "Africa", 1)] {
            let team = try context.insert(Team.self)
            (team.name, team.zone, team.wins) = (name, zone, wins)
        }
        try await context.save()
        drawn = []
        let standings = Standings(.store(context))
        let teams = standings.teams.controller?.fetchedObjectIDs ?? []
        try #require(teams.count == 2)
        standings.draw()
        #expect(drawn == ["Africa Cameroon 5", "Africa Ghana 1"])
        // A value outside the sort order, a move, and a new section.
        for (edits, expected) in [
            (["update", "\(teams[1])", "name=Mali"], ["Africa Cameroon 5", "Africa Mali 1"]),
            (["update", "\(teams[1])", "wins=6"], ["Africa Mali 6", "Africa Cameroon 5"]),
            (
                ["insert", "Team", "name=Malta", "zone=Europe", "wins=2"],
                ["Africa Mali 6", "Africa Cameroon 5", "Europe Malta 2"]
            ),
        ] {
            drawn = []
            let run = try CommandRun("tandem", edits + ["--socket", place.socket])
            try #require(run.code == 0, "\(run.output)")
            while drawn.isEmpty { await Task.yield() }
            #expect(drawn == expected)
        }
    }

    @Test func `a new attribute is computed from others, while an earlier version runs`() throws {
        let place = try Place()
        try place.serve()
        let earlier = PersistentContainer(
            entities: [Team.self], socket: place.socket, author: "earlier")
        defer { earlier.close() }
        let teams = try (0..<3).map { wins in
            let team = try earlier.viewContext.insert(Team.self)
            (team.name, team.zone, team.wins) = ("\(wins)", "Africa", wins)
            return team
        }
        try earlier.viewContext.save()
        let later = PersistentContainer(
            entities: [Later.Team.self], socket: place.socket, author: "later")
        defer { later.close() }
        try Later.addPoints(in: later.viewContext)
        let points = try later.viewContext.fetch(FetchRequest<Later.Team>(sort: ["wins"]))
        #expect(points.map(\.points) == [0, 3, 6])
        teams[0].wins = 9
        try earlier.viewContext.save()
    }

    @Test func `the code of the pages is the code above`() throws {
        let path = #filePath
        let root = path.prefix(path.utf8.count - "/Tests/ProcessTests/ReadmeTests.swift".utf8.count)
        func words(_ text: some StringProtocol) -> String {
            text.split(whereSeparator: \.isWhitespace).joined()
        }
        let source = words(try String(contentsOfFile: path, encoding: .utf8))
        let gettingStarted = "Client/Tandem/Tandem.docc/GettingStarted.md"
        for (page, start, end) in [
            ("README.md", "final class Team", "\n}"),
            ("README.md", "let context = ", "\n```"),
            (gettingStarted, "@MainActor @Observable final class Standings", "\n}"),
            (gettingStarted, "func addPoints", "\n}"),
        ] {
            let text = try String(contentsOfFile: root + "/" + page, encoding: .utf8)
            let first = try #require(text.firstRange(of: start))
            let rest = text[first.lowerBound...]
            let last = try #require(rest.firstRange(of: end))
            let code = rest[..<last.lowerBound] + (end == "\n}" ? end : "")
            let lines = code.split(separator: "\n").map { line -> Substring in
                line.firstRange(of: "//").map { line[..<$0.lowerBound] } ?? line
            }
            #expect(source.contains(words(lines.joined(separator: " "))), "\(start)")
        }
    }
}

/// A later version of the app.
private enum Later {
    final class Team: ManagedObject, ManagedEntity {
        static let entity = Entity("Team", uniqueness: [["name"]]) {
            Attribute("name", .string, optional: false)
            Attribute("zone", .string, optional: false)
            Attribute("wins", .int, optional: false, default: .int(0))
            Attribute("points", .int)
        }
        @Managed("wins") var wins: Int
        @Managed("points") var points: Int?
    }

    static func addPoints(in context: ManagedObjectContext) throws {
        while true {
            let request = FetchRequest(where: \Team.points == nil, limit: 500)
            let teams = try context.fetch(request)
            if teams.isEmpty { return }
            for team in teams { team.points = 3 * team.wins }
            try context.save()
        }
    }
}

import ArgumentParser
import Tandem
import TandemIO

/// `worldcup play`: plays the tournament, with one save for each win.
struct Play: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play the 64 matches of 2022; every win is a save.",
        discussion: """
            If the store is empty, the 32 teams are inserted first, in one save. Draws save \
            nothing; penalties determine the winner of a match.
            """)

    @OptionGroup var socketOptions: SocketOptions
    @Option(help: "Milliseconds between two matches.")
    var delay: UInt = 0
    @Flag(help: "Print the last line only.")
    var quiet = false

    @MainActor func run() async throws {
        try await reporting {
            let tournament = try Tournament()
            let container = socketOptions.container("play")
            let context = container.viewContext
            let watch = try await GapWatch(container)
            try await seed(tournament, context)
            for match in tournament.matches {
                if let winner = match.winner { _ = try await context.win(winner) }
                if !quiet { say(match.line) }
                if delay > 0 { try await Task.sleep(for: .milliseconds(delay)) }
            }
            let position = try await context.connect()
            try await watch.finish(at: position)
            say("played \(tournament.matches.count) matches up to position \(position)")
        }
    }

    @MainActor private func seed(
        _ tournament: Tournament, _ context: ManagedObjectContext
    ) async throws {
        let count = try await context.count(for: FetchRequest(entity: "Team"))
        guard count == 0 else { return }
        for entrant in tournament.entrants {
            let team = try context.insert(Team.self)
            team.name = entrant.name
            team.zone = entrant.zone
            team.group = entrant.group
            team.imageName = entrant.imageName
        }
        try await context.save()
        if !quiet { say("\(tournament.entrants.count) teams") }
    }
}

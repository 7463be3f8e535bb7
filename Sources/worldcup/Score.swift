import ArgumentParser
import Tandem

/// `worldcup score`: adds a win to a team.
struct Score: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add a win to a team.")

    @OptionGroup var socketOptions: SocketOptions
    @Argument(help: "The team's name, as in the table.")
    var team: String

    @MainActor func run() async throws {
        try await reporting {
            let container = socketOptions.container("score")
            let context = container.viewContext
            let wins = try await context.win(team)
            say("\(team) has \(wins) \(wins == 1 ? "win" : "wins")")
        }
    }
}

/// `worldcup add`: adds a team; the first team of a zone creates a section in every table.
struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Add a team; the first team of a zone creates a section.")

    @OptionGroup var socketOptions: SocketOptions
    @Argument(help: "The team's name, which must be new.")
    var team: String
    @Argument(help: "The zone in which the team qualified.")
    var zone: String

    @MainActor func run() async throws {
        try await reporting {
            let container = socketOptions.container("add")
            let context = container.viewContext
            let object = try context.insert(Team.self)
            object.name = team
            object.zone = zone
            try await context.save()
            say("\(team) plays for \(zone)")
        }
    }
}

extension ManagedObjectContext {
    /// Adds a win to a team in one save, and returns the team's wins; retries after a conflict.
    nonisolated(nonsending) func win(_ name: String) async throws -> Int {
        for _ in 0..<20 {
            let found = try await fetch(Team.self, where: \.name == name)
            guard let team = found.first else {
                throw TandemError(
                    .unknownObject, "no team is named \(name); see `worldcup table --once`")
            }
            team.wins += 1
            do {
                try await save()
                return team.wins
            } catch let error as TandemError where error.code == .conflict {
                rollback()
            }
        }
        throw TandemError(
            .conflict,
            "\(name) was changed by other processes 20 times in a row; run the command again")
    }
}

import ArgumentParser
import Tandem
import TandemIO

/// `worldcup final`: fetches the table and prints it once.
struct Final: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Fetch the table and print it once.")

    @OptionGroup var socketOptions: SocketOptions
    @Option(help: "Read at this position or later, such as 18@1-5f0c….")
    var position: String?

    @MainActor func run() async throws {
        try await reporting {
            let container = socketOptions.container("final")
            let context = container.viewContext
            if let position { try await context.reach(.parse(position)) }
            let teams = try await context.fetch(.table)
            StandardStream.output.write(TableText(teams).text)
        }
    }
}

extension Position {
    /// Parses a position in the form that the verbs print.
    static func parse(_ text: String) throws(TandemError) -> Position {
        guard let position = Position(text) else {
            throw TandemError(.usage, "`\(text)` is not a position; give one such as 18@1-5f0c…")
        }
        return position
    }
}

extension TableText {
    /// Groups a sorted list of teams into zones.
    init(_ teams: [Team]) {
        zones = []
        for team in teams {
            let row = Row(number: team.id.number, name: team.name, wins: team.wins)
            if zones.last?.name == team.zone {
                zones[zones.count - 1].rows.append(row)
            } else {
                zones.append(Zone(name: team.zone, rows: [row]))
            }
        }
    }
}

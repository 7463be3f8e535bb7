import Foundation
import Tandem
import Testing

/// A suite whose tests each have a place, and run `tandem` on the daemon that serves its store.
protocol StoreSuite {
    var place: Place { get }
}

extension StoreSuite {
    /// Runs `tandem` with the socket of the place.
    func tandem(_ arguments: String...) throws -> CommandRun { try tandem(arguments) }

    /// Runs `tandem` with the socket of the place.
    func tandem(_ arguments: [String]) throws -> CommandRun {
        try CommandRun("tandem", arguments + ["--socket", place.socket])
    }

    /// Writes a file in the directory of the place and returns its path.
    @discardableResult
    func file(_ name: String, _ text: String) throws -> String {
        let path = place.path + "/" + name
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }
}

extension Place {
    /// Creates a place with a running daemon, and with a model if one is given.
    static func serving(_ model: String? = nil) throws -> Place {
        let place = try Place()
        try place.serve()
        if let model { try place.install(model) }
        return place
    }

    /// Installs a model in the store that the daemon serves.
    func install(_ model: String) throws {
        let path = path + "/model.json"
        try model.write(toFile: path, atomically: true, encoding: .utf8)
        expect(try CommandRun("tandem", ["schema", "apply", path, "--socket", socket]), 0)
    }

    /// Calls `body` with a context for the store that the daemon serves.
    @MainActor func seed<Result>(
        _ model: String, _ body: (ManagedObjectContext) throws -> Result
    ) throws -> Result {
        let container = PersistentContainer(
            model: try ManagedObjectModel(parsing: model), socket: socket, author: "seeder")
        defer { container.close() }
        return try body(container.makeContext(name: "seeds"))
    }

    /// The folder with the model and the map of the flights.
    static var flights: String {
        "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/") + "/Flights"
    }
}

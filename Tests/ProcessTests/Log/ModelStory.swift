import Foundation
import Tandem
import Testing

/// A daemon whose model changes, and edits under each of its models.
@MainActor struct ModelStory {
    let place: Place
    let daemon: DaemonProcess
    /// The models, in their order.
    private let models: [String]

    init(_ models: [String]) throws {
        self.models = models
        place = try Place()
        daemon = try place.serve()
    }

    /// Edits objects as an app with this model; migrates the store first if it has another one.
    func edit(
        _ model: Int, _ author: String = "writer", _ body: (ManagedObjectContext) throws -> Void
    ) throws {
        let container = PersistentContainer(socket: place.socket, author: author)
        defer { container.close() }
        let declared = try ManagedObjectModel(parsing: models[model])
        if try container.storeModel().hash != declared.hash {
            try container.migrate(to: declared)
        }
        let context = container.makeContext(name: "main")
        try body(context)
        if context.hasChanges { try context.save() }
    }

    /// Returns the results of `body` for the daemon and, after it has ended, for its directory.
    func told<Told>(_ body: (_ source: [String]) throws -> Told) throws -> (
        online: Told, offline: Told
    ) {
        let online = try body(["--socket", place.socket])
        #expect(daemon.end(SIGTERM) == 0)
        return (online, try body(["-D", place.store]))
    }
}

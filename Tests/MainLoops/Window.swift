import Glibc
import Tandem

final class Item: ManagedObject, ManagedEntity {
    @Managed("name") var name: String

    static let entity = Entity("Item") { Attribute("name", .string, default: .string("")) }
}

/// The window of an app, without a window system.
///
/// It has a context that follows all saves, and a view of the items that is drawn again after each
/// merge.
@LoopActor final class Window {
    /// The only window; nil until it is open.
    static var shared: Window?

    private let context: ManagedObjectContext

    init(_ container: PersistentContainer) {
        context = container.makeContext(name: "window", mergesAutomatically: true)
    }

    /// Draws the items, and begins to follow saves.
    func open() throws {
        let saves = context.didSave
        try draw()
        Task {
            for try await _ in saves { try draw() }
        }
    }

    private func draw() throws {
        let names = try context.fetch(Item.self, sort: ["name"]).map(\.name)
        show("items: \(names.joined(separator: " "))")
    }

    // MARK: Events

    /// Carries out a command, as a callback of the loop.
    nonisolated static func handle(_ line: String) {
        LoopActor.assumeIsolated {
            do {
                try shared?.carryOut(line)
            } catch {
                show("error: \(error)")
            }
        }
    }

    private func carryOut(_ line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "add":
            try context.insert(Item.self).name = words[1]
            try context.save()
        case "later":
            try context.insert(Item.self).name = words[1]
            Task { try await context.save() }
        default: exit(0)
        }
    }
}

/// Prints a line at once, even to a pipe.
func show(_ line: String) {
    var text = line + "\n"
    text.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

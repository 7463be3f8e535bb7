import Glibc
import Tandem
import TodoModel

/// Removes the items that are done, until none is left.
actor Archiver {
    private let container: PersistentContainer

    init(_ container: PersistentContainer) { self.container = container }

    func run() async throws {
        let context = container.makeContext(name: "archiver", mergesAutomatically: true)
        // From here on, saves are buffered for the loop.
        let saves = context.saves(of: "Item")
        if try await archive(in: context) == 0 { return }
        for try await _ in saves where try await archive(in: context) == 0 { return }
    }

    /// Removes what is done now; returns the number of the other items.
    private func archive(in context: ManagedObjectContext) async throws -> Int {
        let done = try await context.fetch(
            Item.self, where: \.isDone == true, sort: [.ascending(\.title)])
        let titles = done.map(\.title).joined(separator: ", ")
        for item in done { context.delete(item) }
        try await context.save()
        let left = try await context.count(for: FetchRequest<Item>())
        if !done.isEmpty {
            print("archived \(titles); \(left) left")
            fflush(nil)
        }
        return left
    }
}

let container = try PersistentContainer.open(
    entities: [List.self, Item.self], author: "archiver")
try await Archiver(container).run()

import Glibc
import Tandem
import TodoModel

/// Removes the items that are done, until none is left.
actor Archiver {
    private let context: ManagedObjectContext

    init(_ container: PersistentContainer) { context = container.makeContext(name: "archiver") }

    /// Returns the titles of the items that were removed, and the number of those left.
    func archive() async throws -> (removed: [String], left: Int) {
        let done = try await context.fetch(
            Item.self, where: \.isDone == true, sort: [.ascending(\.title)])
        let removed = done.map(\.title)
        for item in done { context.delete(item) }
        try await context.save()
        return (removed, try await context.count(for: FetchRequest<Item>()))
    }
}

let container = try PersistentContainer.open(
    entities: [List.self, Item.self], author: "archiver")
let archiver = Archiver(container)
var left: Int
repeat {
    let save = container.saves(of: "Item")
    let result = try await archiver.archive()
    left = result.left
    print("archived \(result.removed.joined(separator: ", ")); \(left) left")
    fflush(nil)
    if left > 0 { for try await _ in save { break } }
} while left > 0

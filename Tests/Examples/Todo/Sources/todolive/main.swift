import Glibc
import Tandem
import TodoModel

let container = try PersistentContainer.open(
    entities: [List.self, Item.self], author: "todolive")
let table = try FetchedResultsController(
    fetchRequest: FetchRequest(
        where: \Item.isDone == false,
        sort: [.ascending(\.list?.name), .descending(\.priority), .ascending(\.title)]),
    context: container.viewContext, sectionNameKeyPath: \.list?.name)
try table.performFetch()

/// Prints the whole table on one line.
@MainActor func show() {
    let sections = table.sections.enumerated().map { index, section in
        "\(section.name): " + table.objects(inSection: index).map(\.title).joined(separator: ", ")
    }
    print(sections.joined(separator: "; "))
    fflush(nil)
}

show()
for try await _ in table.changes() { show() }

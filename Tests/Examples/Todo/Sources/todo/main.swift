import Foundation
import Tandem
import TodoModel

/// The verbs with their arguments.
let usage = """
    usage: todo lists | show [LIST] | add LIST TITLE [PRIORITY] | done TITLE | priority TITLE N
           todo move TITLE LIST | retitle TITLE NEW | rename LIST NEW | delete TITLE | drop LIST
           todo clear
    """

struct Failure: Error, CustomStringConvertible {
    let description: String
}

@MainActor func item(_ title: String, in context: ManagedObjectContext) async throws -> Item {
    guard let item = try await context.fetch(Item.self, where: \.title == title).first else {
        throw Failure(description: "nothing to do is called \"\(title)\"")
    }
    return item
}

@MainActor func list(_ name: String, in context: ManagedObjectContext) async throws -> List {
    guard let list = try await context.fetch(List.self, where: \.name == name).first else {
        throw Failure(description: "no list is called \"\(name)\"")
    }
    return list
}

@MainActor func show(_ items: [Item]) {
    for item in items {
        print(item.isDone ? "[x]" : "[ ]", item.list?.name ?? "", item.priority, item.title)
    }
}

/// Carries out one command.
@MainActor func run(_ arguments: [String], in context: ManagedObjectContext) async throws {
    let order: [SortKey<Item>] = [
        .ascending(\.list?.name), .descending(\.priority), .ascending(\.title),
    ]
    switch (arguments.first, arguments.dropFirst().map(\.self)) {
    case ("lists", []):
        let columns = FetchColumns(["list.name", "@count"], groupBy: ["list.name"])
        for row in try await context.fetchDictionaries(FetchRequest<Item>(), columns) {
            print(row["list.name"] ?? .null, row["@count"] ?? .null)
        }
    case ("show", []): show(try await context.fetch(FetchRequest(sort: order)))
    case ("show", let names) where names.count == 1:
        let name = names[0]
        show(try await context.fetch(FetchRequest(where: \Item.list?.name == name, sort: order)))
    case ("add", let words) where words.count == 2 || words.count == 3:
        let found = try await context.fetch(List.self, where: \.name == words[0]).first
        let list = try found ?? context.insert(List.self)
        list.name = words[0]
        let item = try context.insert(Item.self)
        item.title = words[1]
        item.list = list
        if let priority = words.dropFirst(2).first.flatMap(Int.init) { item.priority = priority }
    case ("done", let words) where words.count == 1:
        try await item(words[0], in: context).isDone = true
    case ("priority", let words) where words.count == 2:
        guard let priority = Int(words[1]) else { throw Failure(description: usage) }
        try await item(words[0], in: context).priority = priority
    case ("move", let words) where words.count == 2:
        try await item(words[0], in: context).list = try await list(words[1], in: context)
    case ("retitle", let words) where words.count == 2:
        try await item(words[0], in: context).title = words[1]
    case ("rename", let words) where words.count == 2:
        try await list(words[0], in: context).name = words[1]
    case ("delete", let words) where words.count == 1:
        context.delete(try await item(words[0], in: context))
    case ("drop", let words) where words.count == 1:
        context.delete(try await list(words[0], in: context))
    case ("clear", []):
        let request = BatchDeleteRequest(Item.self, where: \.isDone == true)
        print(try await context.execute(request).count, "deleted")
    default: throw Failure(description: usage)
    }
    try await context.save()
}

do {
    let container = try PersistentContainer.open(
        entities: [List.self, Item.self], author: "todo")
    try await run(Array(CommandLine.arguments.dropFirst()), in: container.viewContext)
} catch {
    FileHandle.standardError.write(Data("todo: \(error)\n".utf8))
    exit(1)
}

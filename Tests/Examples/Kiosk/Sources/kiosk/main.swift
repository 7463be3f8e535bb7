import Foundation
import Tandem
import TandemEmbedded

final class Visitor: ManagedObject, ManagedEntity {
    static var entity: Entity {
        Entity("Visitor", uniqueness: [["name"]]) {
            Attribute("name", .string, optional: false, min: 1)
            Attribute("visits", .int, optional: false, default: .int(0))
        }
    }
    @Managed("name") var name: String
    @Managed("visits") var visits: Int
}

do {
    guard CommandLine.arguments.count == 3 else {
        print("usage: kiosk DIRECTORY NAME")
        exit(2)
    }
    let (directory, name) = (CommandLine.arguments[1], CommandLine.arguments[2])
    let container = try PersistentContainer.embedded(entities: [Visitor.self], at: directory)
    let context = container.viewContext
    let known = try context.fetch(Visitor.self, where: \.name == name).first
    let visitor = try known ?? context.insert(Visitor.self)
    visitor.name = name
    visitor.visits += 1
    try context.save()
    let book = FetchRequest(Visitor.self, sort: [.descending(\.visits), .ascending(\.name)])
    for visitor in try context.fetch(book) { print(visitor.name, visitor.visits) }
} catch {
    FileHandle.standardError.write(Data("kiosk: \(error)\n".utf8))
    exit(1)
}

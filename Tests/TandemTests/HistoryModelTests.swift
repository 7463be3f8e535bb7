import TandemDaemon
import TandemEmbedded
import TandemModel
import Testing

@testable import Tandem

/// A note as in the first version of an app.
private final class OldNote: ManagedObject, ManagedEntity {
    @Managed("done") var done: Bool
    @Managed("title") var title: String

    static let entity = Entity("Note") {
        Attribute("done", .bool)
        Attribute("title", .string)
    }
}

/// The same note with another attribute.
private final class NewNote: ManagedObject, ManagedEntity {
    @Managed("title") var title: String

    static let entity = Entity("Note") {
        Attribute("done", .bool)
        Attribute("added", .string, default: .string("-"))
        Attribute("title", .string)
    }
}

/// Values in the history before and after a model change.
@MainActor @Suite struct HistoryModelTests {
    /// Returns the titles of all changes, read under a model, or the code of the error instead of a
    /// title.
    private func titles(
        _ transactions: [Transaction], _ model: (Transaction) -> CompiledModel?
    ) throws -> [String] {
        try transactions.flatMap { transaction in
            try transaction.changes.compactMap(\.row).map { row in
                let entity = try #require(model(transaction)?.entity(named: "Note"))
                do {
                    let slot = try #require(entity.slot(of: "title"))
                    return try row.value(slot, in: entity).json.string ?? "null"
                } catch let error as TandemError {
                    return error.code.rawValue
                }
            }
        }
    }

    @Test func `a row is read under the model of its position, and refused under another`()
        async throws
    {
        let daemon = try EmbeddedDaemon(.inMemory())
        let first = PersistentContainer(entities: [OldNote.self], transport: daemon.transport)
        let context = first.makeContext(name: "old")
        try context.insert(OldNote.self).title = "before"
        try await context.save()
        let old = try await first.storeModel()
        let second = PersistentContainer(entities: [NewNote.self], transport: daemon.transport)
        let newer = second.makeContext(name: "new")
        try newer.insert(NewNote.self).title = "after"
        let end = try await newer.save()
        let new = try await second.storeModel()
        var all: [Transaction] = []
        for try await transaction in second.transactions(after: end.at(0)) {
            all.append(transaction)
        }
        #expect(try titles(all) { _ in old } == ["before", "schemaMismatch"])
        #expect(try titles(all) { _ in new } == ["schemaMismatch", "after"])
        // The models are part of the history too.
        var model: CompiledModel?
        let found = try titles(all) { transaction in
            for other in all where other.position <= transaction.position {
                guard case .model(let bytes) = other.content else { continue }
                model = try? ModelInstallation(bytes).model
            }
            return model
        }
        #expect(found == ["before", "after"])
    }
}

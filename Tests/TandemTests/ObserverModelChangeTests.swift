import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Observers of saves, when a model change removes a property that their predicate uses.
@MainActor @Suite struct ObserverModelChangeTests {
    private let fixture: Fixture
    private let other: PersistentContainer
    private let container: PersistentContainer
    private let writer: ManagedObjectContext

    /// Returns a model in which an item has this property.
    ///
    /// A store without objects accepts any such model.
    private static func model(_ property: String, _ type: AttributeType = .int)
        -> ManagedObjectModel
    {
        ManagedObjectModel {
            Entity("Item") {
                Attribute("name", .string)
                Attribute(property, type)
            }
        }
    }

    init() throws {
        fixture = try Fixture([])
        other = PersistentContainer(author: "other", transport: fixture.transport)
        container = PersistentContainer(author: "ears", transport: fixture.transport)
        try other.install(Self.model("size"))
        writer = other.makeContext(name: "writer")
    }

    /// Inserts an item under the current model.
    private func item(_ values: [String: PropertyValue]) throws -> Position {
        let request = BatchInsertRequest(entity: "Item", rows: [BatchValues(values)])
        return try writer.execute(request).position
    }

    private func deleteAll() throws {
        try writer.execute(BatchDeleteRequest(FetchRequest(entity: "Item")))
    }

    @Test
    func `an observer is notified that the model lacks its property, and resumes if it is back`()
        throws
    {
        let context = container.makeContext(name: "ears")
        var heard: [String] = []
        let observer = try context.observe("Item", where: try ObjectPredicate(format: "size > 5")) {
            switch $0 {
            case .saved(let save): heard.append("saved \(save.inserted.count)")
            case .missed(let missed): heard.append("missed \(missed.after.number)")
            case .failed(let error): heard.append(error.code.rawValue)
            }
        }
        let start = context.position?.number ?? 0
        try context.reach(try other.install(Self.model("other")))
        #expect(heard == ["unknownProperty"])
        // The error is reported once per model.
        try context.reach(try item(["other": .int(7)]))
        #expect(heard == ["unknownProperty"])
        try deleteAll()
        try context.reach(try other.install(Self.model("size", .string)))
        #expect(heard == ["unknownProperty", "invalidPredicate"])
        try context.reach(try other.install(Self.model("size")))
        #expect(heard == ["unknownProperty", "invalidPredicate", "missed \(start)"])
        try context.reach(try item(["size": .int(6)]))
        #expect(heard.last == "saved 1" && heard.count == 4)
        withExtendedLifetime(observer) {}
    }

    @Test(arguments: [true, false])
    func `filtered saves end if the model lacks a property`(isContext: Bool) async throws {
        let context = container.makeContext(name: "ears", mergesAutomatically: true)
        try await container.follow()
        _ = try await context.connect()
        let predicate = try ObjectPredicate(format: "size > 5")
        var saves =
            (isContext
            ? context.saves(of: "Item", where: predicate)
            : container.saves(of: "Item", where: predicate)).makeAsyncIterator()
        _ = try item(["size": .int(7)])
        let first = try await saves.next(isolation: #isolation)
        #expect(first?.inserted.count == 1)
        try deleteAll()
        #expect(try await saves.next(isolation: #isolation)?.deleted.count == 1)
        _ = try await other.install(Self.model("other"))
        _ = try item(["other": .int(7)])
        do {
            _ = try await saves.next(isolation: #isolation)
            Issue.record("a save without a match was delivered")
        } catch let error as TandemError {
            #expect(error.code == .unknownProperty || (isContext && error.code == .historyExpired))
        }
    }
}

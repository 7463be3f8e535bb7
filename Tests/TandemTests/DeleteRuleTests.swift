import Tandem
import TandemModel
import Testing

/// The effects of delete rules, before the save and after it.
@MainActor @Suite struct DeleteRuleTests {
    let fixture: Fixture
    let context: ManagedObjectContext
    let other: ManagedObjectContext

    private static let model = ManagedObjectModel {
        Entity("Box") {
            Attribute("name", .string)
            Relationship("items", to: "Item", inverse: "box", toMany: true, deleteRule: .cascade)
            Relationship("label", to: "Label", inverse: "box")
        }
        Entity("Item") {
            Relationship("box", to: "Box", inverse: "items")
            Relationship("parts", to: "Part", inverse: "item", toMany: true, deleteRule: .cascade)
        }
        Entity("Part") { Relationship("item", to: "Item", inverse: "parts") }
        Entity("Label") { Relationship("box", to: "Box", inverse: "label") }
    }

    init() throws {
        fixture = try Fixture([])
        let container = PersistentContainer(model: Self.model, transport: fixture.transport)
        context = container.makeContext(name: "context")
        other = container.makeContext(name: "other")
    }

    private struct Graph {
        let box, item, part, label: ManagedObject
        var all: [ManagedObject] { [box, item, part, label] }
    }

    /// Inserts a label, and a box with an item that has a part.
    private func graph() throws -> Graph {
        let graph = Graph(
            box: try context.insert("Box"), item: try context.insert("Item"),
            part: try context.insert("Part"), label: try context.insert("Label"))
        graph.item.setObject(graph.box, for: "box")
        graph.part.setObject(graph.item, for: "item")
        graph.label.setObject(graph.box, for: "box")
        return graph
    }

    /// Returns the same graph, saved and loaded again, so that the context holds its links.
    private func savedGraph() throws -> Graph {
        let graph = try graph()
        try context.save()
        #expect(graph.box.objects("items") == [graph.item])
        #expect(graph.item.objects("parts") == [graph.part])
        #expect(graph.label.object("box") === graph.box && graph.part.object("item") != nil)
        return graph
    }

    private func count(_ entity: String) throws -> Int {
        try context.count(for: FetchRequest(entity: entity))
    }

    @Test func `a cascade shows at once, and a link to a deleted object reads as null`() throws {
        let graph = try savedGraph()
        context.delete(graph.box)
        #expect(graph.all.map(\.isDeleted) == [true, true, true, false])
        #expect(graph.label.object("box") == nil && graph.label["box"] == .null)
        #expect(!graph.label.hasChanges && graph.label.committedValues()["box"] != .null)
        #expect(Set(context.deletedObjects) == [graph.box, graph.item, graph.part])
        #expect(try context.fetch(FetchRequest(entity: "Part")).isEmpty)
        try context.save()
        #expect(graph.all.map(\.isDeleted) == [true, true, true, false])
        #expect(!context.hasChanges && graph.label["box"] == .null)
        #expect(try ["Box", "Item", "Part", "Label"].map(count) == [0, 0, 0, 1])
    }

    @Test func `undo reverts the cascade, and so does rollback`() throws {
        let graph = try savedGraph()
        context.allowsUndo = true
        graph.part.setObject(nil, for: "item")
        graph.part.setObject(graph.item, for: "item")
        context.delete(graph.box)
        context.undo()
        #expect(graph.all.filter(\.isDeleted).isEmpty)
        #expect(graph.box.objects("items") == [graph.item] && graph.label.object("box") != nil)
        context.redo()
        #expect(graph.part.isDeleted)
        context.rollback()
        #expect(graph.all.filter(\.isDeleted).isEmpty && !context.hasChanges)
        try context.save()
        #expect(try ["Box", "Item", "Part"].map(count) == [1, 1, 1])
    }

    @Test func `objects that were never saved are deleted too, and return after undo`() throws {
        context.allowsUndo = true
        let graph = try graph()
        context.delete(graph.box)
        #expect(context.insertedObjects == [graph.label])
        context.undo()
        #expect(context.insertedObjects.count == 4 && graph.part.object("item") === graph.item)
        context.redo()
        try context.save()
        #expect(try ["Box", "Item", "Part", "Label"].map(count) == [0, 0, 0, 1])
    }

    @Test func `a cascade through a link that only the context knows is done by the context`()
        throws
    {
        let graph = try graph()
        let second = try context.insert("Box")
        try context.save()
        #expect(graph.item.objects("parts") == [graph.part])
        graph.item.setObject(second, for: "box")
        context.delete(second)
        #expect(graph.item.isDeleted && graph.part.isDeleted && !graph.box.isDeleted)
        try context.save()
        #expect(try ["Box", "Item", "Part"].map(count) == [1, 0, 0])
        let new = try context.insert("Box")
        let late = try context.insert("Item")
        try context.save()
        let brief = try context.insert("Box")
        late.setObject(brief, for: "box")
        context.delete(brief)
        #expect(late.isDeleted && !new.isDeleted)
        try context.save()
        #expect(try ["Box", "Item"].map(count) == [2, 0])
    }

    @Test func `objects that the context does not hold are deleted by the daemon`() throws {
        _ = try graph()
        try context.save()
        let box = try #require(try other.fetch(FetchRequest(entity: "Box")).first)
        other.delete(box)
        #expect(other.deletedObjects == [box])
        try other.save()
        #expect(try ["Box", "Item", "Part", "Label"].map(count) == [0, 0, 0, 1])
    }

    @Test func `an object that others moved elsewhere shows again after the save`() throws {
        let graph = try savedGraph()
        let theirs = try other.existingObject(with: graph.item.id)
        let second = try other.insert("Box")
        theirs.setObject(second, for: "box")
        try other.save()
        context.delete(graph.box)
        #expect(graph.item.isDeleted)
        try context.save()
        #expect(graph.box.isDeleted && !graph.item.isDeleted && !graph.part.isDeleted)
        #expect(graph.item.object("box")?.id == second.id)
        #expect(graph.part.object("item") === graph.item && !context.hasChanges)
        #expect(try ["Box", "Item", "Part"].map(count) == [1, 1, 1])
    }

    @Test func `an object that a rule would delete can be deleted explicitly as well`() throws {
        let graph = try savedGraph()
        context.delete(graph.box)
        context.delete(graph.item)
        context.delete(graph.item)
        let theirs = try other.existingObject(with: graph.item.id)
        theirs.setObject(nil, for: "box")
        try other.save()
        try context.save(policy: .objectTrump)
        #expect(try ["Box", "Item", "Part"].map(count) == [0, 0, 0])
    }

    @Test func `observers of deleted objects are notified of the cascade`() throws {
        let graph = try savedGraph()
        var deleted: Set<ObjectID> = []
        let observation = context.onObjectsDidChange { deleted.formUnion($0.deleted) }
        context.delete(graph.box)
        context.processPendingChanges()
        #expect(deleted == [graph.box.id, graph.item.id, graph.part.id])
        withExtendedLifetime(observation) {}
    }

    @Test func `a child shows the effects of rules, and leaves them to its parent and the daemon`()
        throws
    {
        let graph = try savedGraph()
        let child = context.makeChild(name: "child")
        var told: [ObjectsChange] = []
        let observation = child.onObjectsDidChange { told.append($0) }
        let mine = try graph.all.map { try child.existingObject(with: $0.id) }
        _ = mine[0].objects("items")
        _ = mine[1].objects("parts")
        child.delete(mine[0])
        #expect(mine.map(\.isDeleted) == [true, true, true, false])
        #expect(mine[3].object("box") == nil)
        #expect(graph.all.allSatisfy { !$0.isDeleted })
        child.processPendingChanges()
        #expect(told.flatMap(\.deleted).count == 3)
        try child.save()
        #expect(graph.all.map(\.isDeleted) == [true, true, true, false])
        #expect(!child.hasChanges && mine.map(\.isDeleted) == [true, true, true, false])
        try context.save()
        try other.reach(try #require(context.position))
        #expect(try other.fetch(FetchRequest(entity: "Item")).isEmpty)
        #expect(try other.fetch(FetchRequest(entity: "Part")).isEmpty)
        #expect(try other.fetch(FetchRequest(entity: "Label")).count == 1)
        _ = observation
    }

    @Test func `an observer of a child's objects is notified of its parent's edits and merges`()
        throws
    {
        let graph = try savedGraph()
        let child = context.makeChild(name: "child")
        let mine = try child.existingObject(with: graph.box.id)
        var told: [ObjectsChange] = []
        let observation = child.onObjectsDidChange { told.append($0) }
        graph.box["name"] = .string("edited")
        child.processPendingChanges()
        #expect(told.map(\.refreshed) == [[mine.id]])
        let theirs = try other.existingObject(with: graph.box.id)
        theirs["name"] = .string("theirs")
        try context.reach(try other.save())
        child.processPendingChanges()
        #expect(told.map(\.refreshed) == [[mine.id], [mine.id]])
        _ = observation
    }
}

import Tandem
import TandemModel
import TestWorlds
import Testing

/// Two contexts on one store: a list of one reports the saves of the other, whether or not its
/// objects were ever loaded there.
///
/// Each case runs with and without a predicate. `SiblingProcessTests` has the same cases between
/// processes.
@MainActor @Suite struct SiblingContextTests {
    let fixture: Fixture
    let background: ManagedObjectContext
    let main: ManagedObjectContext

    init() throws {
        fixture = try Fixture([])
        let container = PersistentContainer(
            model: SiblingScenario.model, author: "app", transport: fixture.transport)
        background = container.makeContext(name: "background")
        main = container.makeContext(name: "main", mergesAutomatically: true)
    }

    private func play(_ scenario: SiblingScenario, _ hasPredicate: Bool) throws {
        let list = try SiblingList(main, hasPredicate: hasPredicate)
        var objects: [String: ManagedObject] = [:]
        let problems = try list.problems(scenario) { edits in
            for edit in edits { try make(edit, &objects) }
            return try background.save().number
        }
        #expect(problems.isEmpty)
    }

    private func make(_ edit: SiblingEdit, _ objects: inout [String: ManagedObject]) throws {
        switch edit {
        case .insert(let title, let isEven):
            let object = try background.insert("Dummy")
            objects[title] = object
            object["title"] = .string(title)
            object["isEven"] = .bool(isEven)
        case .set(let title, let isEven): objects[title]?["isEven"] = .bool(isEven)
        case .delete(let title): if let object = objects[title] { background.delete(object) }
        }
    }

    @Test(arguments: [false, true])
    func `insert`(hasPredicate: Bool) throws { try play(.insert, hasPredicate) }

    @Test(arguments: [false, true])
    func `insert of objects that match`(hasPredicate: Bool) throws {
        try play(.insertMatching, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `update before the first save`(hasPredicate: Bool) throws {
        try play(.updateBeforeFirstSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `update after an earlier save`(hasPredicate: Bool) throws {
        try play(.updateAfterEarlierSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `update after an earlier save, out of the predicate again`(hasPredicate: Bool) throws {
        try play(.updateAwayAfterEarlierSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `delete before the first save`(hasPredicate: Bool) throws {
        try play(.deleteBeforeFirstSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `delete of everything before the first save`(hasPredicate: Bool) throws {
        try play(.deleteAllBeforeFirstSave, hasPredicate)
    }

    @Test(arguments: [false, true])
    func `delete after an earlier save`(hasPredicate: Bool) throws {
        try play(.deleteAfterEarlierSave, hasPredicate)
    }

    // MARK: The sets of the saving context

    @Test func `objects updated before their first save count as inserted, after it as updated`()
        throws
    {
        let object = try background.insert("Dummy")
        object["isEven"] = .bool(true)
        #expect(background.insertedObjects == [object] && background.updatedObjects.isEmpty)
        try background.save()
        #expect(background.insertedObjects.isEmpty)
        object["isEven"] = .bool(false)
        #expect(background.insertedObjects.isEmpty && background.updatedObjects == [object])
    }

    @Test func `objects deleted before their first save do not count, after it as deleted`()
        throws
    {
        let objects = try (0..<2).map { _ in try background.insert("Dummy") }
        background.delete(objects[0])
        #expect(background.insertedObjects == [objects[1]] && background.deletedObjects.isEmpty)
        try background.save()
        background.delete(objects[1])
        #expect(background.insertedObjects.isEmpty && background.deletedObjects == [objects[1]])
        try background.save()
        #expect(background.deletedObjects.isEmpty && !background.hasChanges)
    }
}

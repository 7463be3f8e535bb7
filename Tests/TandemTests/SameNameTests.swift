import Tandem
import TandemModel
import Testing

/// Documented Core Data behaviour of names that Tandem shares, line by line, unless another test
/// covers the line.
@MainActor @Suite struct SameNameTests {
    /// Counts the changes of a list.
    private final class Counter: FetchedResultsControllerDelegate {
        var count = 0

        func controller(_: FetchedResultsController<ManagedObject>, didChange _: ControllerChange) {
            count += 1
        }
    }

    let fixture: Fixture
    let ours: ManagedObjectContext
    let theirs: ManagedObjectContext

    init() throws {
        fixture = try Fixture([Item.self, Tag.self])
        ours = fixture.container("ours").makeContext(name: "ours")
        theirs = fixture.container("theirs").makeContext(name: "theirs")
    }

    /// Saves a new item, and returns the object that each context has for it.
    private func shared(_ name: String = "base") throws -> (ours: Item, theirs: Item) {
        let item = try theirs.insert(Item.self)
        item.name = name
        item["size"] = .int(1)
        try theirs.save()
        return (try #require(try ours.existingObject(with: item.id) as? Item), item)
    }

    private func error(_ body: () throws -> Void) -> TandemError.Code? {
        do { try body() } catch { return (error as? TandemError)?.code }
        return nil
    }

    @Test func `refresh makes no list report, and the rows of a list are not registered`() throws {
        _ = try shared()
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Item", sort: ["name"]), context: ours)
        try list.performFetch()
        #expect(list.numberOfObjects == 1 && ours.registeredObjects.isEmpty)
        let counter = Counter()
        list.delegate = counter
        let item = list.object(at: ResultsIndexPath(section: 0, item: 0))
        #expect(ours.registeredObjects == [item])
        ours.refresh(item, mergeChanges: true)
        ours.refresh(item, mergeChanges: false)
        ours.processPendingChanges()
        #expect(counter.count == 0 && item["name"] == .string("base"))
    }

    @Test func `an object reports its state, its changed values and the committed ones`() throws {
        let item = try ours.insert(Item.self)
        item.name = "a"
        #expect(item.isInserted && !item.isUpdated && item.hasChanges)
        #expect(ours.insertedObjects == [item] && ours.updatedObjects.isEmpty)
        _ = try ours.fetch(Item.self)
        try ours.save()
        #expect(!item.isInserted && !item.hasChanges && !ours.hasChanges && !item.isFault)
        item.name = "b"
        #expect(item.isUpdated && item.changedValues() == ["name": .string("b")])
        #expect(item.committedValues(forKeys: ["name"]) == ["name": .string("a")])
        // A value that is set back to its original does not count as a change.
        item.name = "a"
        #expect(!item.isUpdated && item.changedValues().isEmpty && !ours.hasChanges)
        ours.delete(item)
        #expect(item.isDeleted && ours.deletedObjects == [item])
        try ours.save()
        #expect(item.isDeleted && ours.deletedObjects.isEmpty && !ours.hasChanges)
    }

    @Test func `refresh with merging causes no conflict, and the save detects later ones`()
        throws
    {
        let (mine, other) = try shared()
        mine.name = "mine"
        other.name = "other"
        try theirs.save()
        ours.refresh(mine, mergeChanges: true)
        #expect(mine.isFault && mine.hasChanges)
        #expect(mine.name == "mine" && mine["size"] == .int(1) && !mine.isFault)
        #expect(mine.committedValues(forKeys: ["name"]) == ["name": .string("other")])
        other["size"] = .int(2)
        try theirs.save()
        #expect(error { try ours.save() } == .conflict)
        ours.refresh(mine, mergeChanges: true)
        _ = mine["size"]
        try ours.save()
        #expect(mine.name == "mine" && mine["size"] == .int(2))
    }

    @Test(arguments: [true, false])
    func `edits kept by a refresh are in conflict with later saves of others, read or not`(
        isOfAll: Bool
    ) throws {
        let (mine, other) = try shared()
        func refresh() {
            isOfAll ? ours.refreshAllObjects() : ours.refresh(mine, mergeChanges: true)
        }
        mine.name = "mine"
        refresh()
        #expect(mine.isFault && mine.version == 0)
        other.name = "other"
        try theirs.save()
        #expect(error { try ours.save() } == .conflict)
        #expect(error { try ours.save() } == .conflict)
        // After another refresh, the edits are based on the version that the refused save
        // conflicted with, and on no later one.
        refresh()
        refresh()
        try theirs.reach(try ours.save())
        #expect(mine.name == "mine" && other.name == "mine" && !ours.hasChanges)
    }

    @Test func `storeTrump prefers values saved after a refresh to edits that were not read`()
        throws
    {
        let (mine, other) = try shared()
        mine.name = "mine"
        ours.refresh(mine, mergeChanges: true)
        other.name = "other"
        try theirs.save()
        try theirs.reach(try ours.save(policy: .storeTrump))
        #expect(mine.name == "other" && other.name == "other")
    }

    @Test func `a merge after a refresh makes the edits based on the merged version`() throws {
        let (mine, other) = try shared()
        mine.name = "mine"
        ours.refreshAllObjects()
        other.name = "other"
        try ours.reach(try theirs.save())
        try theirs.reach(try ours.save())
        #expect(mine.name == "mine" && other.name == "mine")
    }

    @Test func `a value set to nil stays nil, whatever the default of a new object is`() throws {
        let item = try ours.insert(Item.self)
        #expect(item["size"] == .int(0))
        item["size"] = .null
        try ours.save()
        #expect(item["size"] == .null)
        #expect(try theirs.existingObject(with: item.id)["size"] == .null)
        let child = ours.makeChild(name: "child")
        let new = try child.insert(Item.self)
        new["size"] = .null
        try child.save()
        try ours.save()
        #expect(new["size"] == .null)
        #expect(try theirs.existingObject(with: new.id)["size"] == .null)
    }

    @Test func `refresh without merging discards edits, and reads on access`() throws {
        let (mine, other) = try shared()
        mine.name = "mine"
        other.name = "other"
        try theirs.save()
        ours.refresh(mine, mergeChanges: false)
        #expect(mine.isFault && !mine.hasChanges && !ours.hasChanges && mine.name == "other")
    }

    @Test func `refreshing all objects adds no row to a list, and removes none`() throws {
        let (mine, _) = try shared()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Item", sort: ["name"]), context: ours)
        try controller.performFetch()
        mine.name = "mine"
        let changes = Counter()
        controller.delegate = changes
        ours.refreshAllObjects()
        #expect(controller.fetchedObjects == [mine] && mine.name == "mine" && mine.hasChanges)
        #expect(changes.count == 0)
    }

    @Test func `an object deleted elsewhere is deleted by the merge, and its edits are discarded`()
        throws
    {
        let (mine, other) = try shared()
        mine.name = "mine"
        theirs.delete(other)
        try ours.reach(try theirs.save())
        #expect(mine.isDeleted && !ours.hasChanges)
        try ours.save()
        #expect(try ours.count(for: FetchRequest(entity: "Item")) == 0)
    }

    @Test(arguments: [MergePolicy.error, .storeTrump, .objectTrump, .overwrite, .rollback])
    func
        `edits of an object deleted elsewhere are a conflict; with another policy it stays deleted`(
            policy: MergePolicy
        ) throws
    {
        let (mine, other) = try shared()
        theirs.delete(other)
        try theirs.save()
        mine.name = "mine"
        let found = error { try ours.save(policy: policy) }
        #expect(found == (policy == .error ? .conflict : nil))
        #expect(try ours.count(for: FetchRequest(entity: "Item")) == 0)
    }

    @Test func `members added on both sides survive, and cause no conflict`() throws {
        let (mine, other) = try shared()
        #expect(mine.tags.isEmpty && other.tags.isEmpty)
        mine.add(try ours.insert(Tag.self), to: "tags")
        other.add(try theirs.insert(Tag.self), to: "tags")
        try theirs.save()
        try ours.save()
        #expect(mine.tags.count == 2)
    }

    @Test(arguments: [
        (MergePolicy.storeTrump, "theirs", 9, "ours"), (.objectTrump, "ours", 9, "ours"),
        (.overwrite, "ours", 1, "ours"), (.rollback, "theirs", 9, ""),
    ])
    func `a policy resolves values that both changed, and keeps or drops values that one changed`(
        policy: MergePolicy, name: String, size: Int64, code: String
    ) throws {
        let (mine, other) = try shared()
        other.name = "theirs"
        other["size"] = .int(9)
        try theirs.save()
        mine.name = "ours"
        mine.code = "ours"
        #expect(error { try ours.save() } == .conflict)
        try theirs.reach(try ours.save(policy: policy))
        for item in [mine, other] {
            #expect(item.name == name && item["size"] == .int(size) && (item.code ?? "") == code)
        }
    }

    @Test func `without a policy a save fails, and lists every conflict`() throws {
        let pairs = [try shared("a"), try shared("b"), try shared("c")]
        for pair in pairs.dropLast() { pair.theirs.name += "!" }
        try theirs.save()
        for pair in pairs { pair.ours.name += "?" }
        #expect(ours.mergePolicy == .error)
        let error = #expect(throws: TandemError.self) { try ours.save() }
        #expect(ours.details(of: error ?? TandemError(.usage, "")).count == 2)
        #expect(pairs.map(\.ours.name) == ["a?", "b?", "c?"] && ours.updatedObjects.count == 3)
    }

    @Test func `a context follows others if configured to`() throws {
        #expect(!ours.mergesAutomatically)
        #expect(fixture.container().viewContext.mergesAutomatically)
        let (mine, other) = try shared()
        other.name = "other"
        let position = try theirs.save()
        #expect(mine.name == "base")
        try ours.reach(position)
        #expect(mine.name == "other")
    }

    @Test func `counting takes pending edits, offset and limit into account`() throws {
        let pairs = try ["a", "b", "c", "d"].map { try shared($0) }
        let named = FetchRequest(
            entity: "Item", predicate: try ObjectPredicate(format: "name < 'c'"), sort: [])
        let all = FetchRequest(entity: "Item")
        #expect(try ours.count(for: named) == 2)
        pairs[0].ours.name = "z"
        ours.delete(pairs[3].ours)
        try ours.insert(Item.self).name = "aa"
        try ours.insert(Item.self).name = "y"
        #expect(try ours.count(for: named) == 2 && ours.fetch(named).count == 2)
        #expect(try ours.count(for: all) == 5 && ours.fetch(all).count == 5)
        var part = all
        (part.offset, part.limit) = (1, 3)
        #expect(try ours.count(for: part) == 3 && ours.fetch(part).count == 3)
        part.offset = 4
        #expect(try ours.count(for: part) == 1 && ours.fetch(part).count == 1)
        // Only the daemon knows whether an unloaded object matched.
        ours.refreshAllObjects()
        #expect(try ours.count(for: named) == ours.fetch(named).count)
        #expect(try ours.count(for: all) == 5)
    }
}

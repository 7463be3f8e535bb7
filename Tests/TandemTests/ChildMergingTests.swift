import Tandem
import TandemModel
import TandemQuery
import Testing

/// Changes by others and by the parent while a child has edits.
@MainActor @Suite struct ChildMergingTests {
    let fixture: Fixture
    let parent: ManagedObjectContext
    let child: ManagedObjectContext
    let other: ManagedObjectContext
    /// One content object, as each of the three contexts sees it.
    let content: Content
    let mine: Content
    let theirs: Content

    init() throws {
        fixture = try Fixture([Bucket.self, Content.self, Item.self, Tag.self])
        parent = fixture.container("family").makeContext(name: "parent")
        child = parent.makeChild(name: "child")
        other = fixture.container("other").makeContext(name: "other")
        content = try parent.insert(Content.self)
        content.name = "base"
        try parent.save()
        mine = try #require(try child.existingObject(with: content.id) as? Content)
        theirs = try #require(try other.existingObject(with: content.id) as? Content)
    }

    @Test func `a child counts objects with the edits of all contexts below it`() throws {
        let small = FetchRequest(
            entity: "Content", predicate: try ObjectPredicate(format: "size < 4"), sort: [])
        let all = FetchRequest(entity: "Content")
        func counts() throws -> [Int] {
            let counts = [try child.count(for: small), try child.count(for: all)]
            #expect(counts == [try child.fetch(small).count, try child.fetch(all).count])
            return counts
        }
        #expect(try counts() == [1, 1])
        mine.size = 9
        #expect(try counts() == [0, 1])
        child.rollback()
        content.size = 8
        #expect(try counts() == [0, 1])
        let new = try parent.insert(Content.self)
        try #require(try child.existingObject(with: new.id) as? Content).size = 3
        _ = try child.insert(Content.self)
        #expect(try counts() == [2, 3])
        child.delete(mine)
        #expect(try counts() == [2, 2])
        parent.refresh(content, mergeChanges: false)
        #expect(try counts() == [2, 2])
        parent.delete(content)
        #expect(try counts() == [2, 2])
    }

    // MARK: Others

    @Test func `saves of others show below the child's edits, and cause no conflict`() throws {
        mine.name = "mine"
        theirs.name = "theirs"
        theirs.size = 5
        try child.reach(try other.save())
        #expect(mine.name == "mine" && mine.size == 5 && content.name == "theirs")
        #expect(child.position == other.position && parent.position == other.position)
        try child.save()
        #expect(content.name == "mine")
    }

    @Test func `a deletion by others discards the child's edits`() throws {
        mine.name = "mine"
        let grandchild = child.makeChild(name: "grandchild")
        let its = try #require(try grandchild.existingObject(with: content.id) as? Content)
        its.size = 7
        other.delete(theirs)
        try parent.reach(try other.save())
        #expect(mine.isDeleted && its.isDeleted && !child.hasChanges && !grandchild.hasChanges)
        try grandchild.save()
        try child.save()
        #expect(!parent.hasChanges)
    }

    @Test func `a read in the child merges and loads for the whole context family`() throws {
        let new = try other.insert(Content.self)
        new.name = "new"
        let position = try other.save()
        #expect(try child.fetch(Content.self, sort: ["name"]).map(\.name) == ["base", "new"])
        #expect(parent.position == position && child.position == position)
        let fresh = fixture.container("fresh").makeContext(name: "fresh")
        let reader = fresh.makeChild(name: "reader").makeChild(name: "inner")
        let found = try reader.object(with: content.id)
        #expect(found.isFault && found["name"] == .string("base") && !found.isFault)
        #expect(try !fresh.object(with: content.id).isFault)
        #expect(throws: TandemError.self) {
            try reader.existingObject(with: ObjectID(entity: "Content", number: 9_999_999))
        }
    }

    @Test func `fetches of a child overlay its edits on its parent's`() throws {
        for (number, name) in ["b", "c", "d", "e"].enumerated() {
            let new = try parent.insert(Content.self)
            new.name = name
            new.size = number
        }
        try parent.save()
        let all = try child.fetch(Content.self, sort: ["name"])
        try #require(try parent.existingObject(with: all[1].id) as? Content).name = "z"
        all[2].name = "a"
        child.delete(all[4])
        let request = { (format: String?) in
            var request = FetchRequest(Content.self, sort: ["name"])
            request.predicate = try format.map { try ObjectPredicate(format: $0) }
            return try child.fetch(request).map(\.name)
        }
        #expect(try request(nil) == ["a", "b", "d", "z"])
        #expect(try request("name < 'b'") == ["a"])
        #expect(try request("name > 'c'") == ["d", "z"])
        #expect(try child.fetch(Content.self, sort: ["-name"], limit: 2).map(\.name) == ["z", "d"])
    }

    @Test func `a list of a child returns the child's objects`() throws {
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["bucket.name", "name"]),
            context: child)
        let recorder = ChangeRecorder()
        try list.performFetch()
        list.delegate = recorder
        mine.size = 3
        #expect(list.fetchedObjects == [mine])
        #expect(list.fetchedObjects.first?["size"] == .int(3))
        let new = try child.insert(Content.self)
        new.bucket = try child.insert(Bucket.self)
        try child.save()
        #expect(recorder.changes.count == 1)
        try parent.save()
        #expect(recorder.changes.count == 1 && list.position == parent.position)
        #expect(Set(list.fetchedObjects) == [mine, new])
        theirs.name = "zz"
        try child.reach(try other.save(policy: .objectTrump))
        #expect(recorder.changes.count == 2)
    }

    @Test func `an observer of a child receives the saves that its parent merges`() throws {
        var heard = 0
        let observer = try child.observe("Content") { _ in heard += 1 }
        theirs.size = 1
        try child.reach(try other.save())
        mine.size = 2
        try child.save()
        #expect(heard == 1)
        try parent.save()
        #expect(heard == 2)
        observer.cancel()
    }

    @Test func `a text too long for its row is read through the parent`() throws {
        let text = String(repeating: "long ", count: 30_000)
        theirs.name = text
        try child.reach(try other.save())
        #expect(mine.name == text)
        mine.name = text + "!"
        try child.save()
        #expect(content.name == text + "!" && mine.name == content.name)
        try parent.save()
        #expect(mine.name == text + "!")
    }

    @Test func `a new object that becomes an existing one does so in the child too`() throws {
        let existing = try other.insert(Item.self)
        existing.code = "k"
        existing.name = "theirs"
        try other.save()
        let new = try child.insert(Item.self)
        new.code = "k"
        new.name = "ours"
        let tag = try child.insert(Tag.self)
        tag.items = [new]
        try child.save()
        new["size"] = .int(9)
        try parent.save(policy: .objectTrump)
        #expect(new.id == existing.id && new.name == "ours" && new["size"] == .int(9))
        #expect(tag.items == [new] && child.updatedObjects == [new])
        try child.save()
        try other.reach(try parent.save(policy: .objectTrump))
        #expect(existing["size"] == .int(9) && existing.name == "ours")
    }

    // MARK: The parent

    @Test(arguments: MergePolicy.allCases)
    func `edits made in the parent since are resolved by the child's policy`(policy: MergePolicy)
        throws
    {
        mine.name = "mine"
        mine.size = 1
        content.name = "parent's"
        let extra = try child.insert(Content.self)
        if policy == .error {
            let error = try #require(throws: TandemError.self) { try child.save() }
            #expect(error.code == .conflict)
            let details = try #require(child.details(of: error).first)
            #expect(details.object == mine.id && details.base["name"] == .string("base"))
            #expect(details.ours["name"] == .string("mine") && details.ours["size"] == .int(1))
            #expect(details.theirs?["name"] == .string("parent's"))
            #expect(mine.name == "mine" && child.hasChanges && content.size == 0)
            #expect(extra.isInserted && parent.insertedObjects.isEmpty)
            return
        }
        child.mergePolicy = policy
        try child.save()
        let isTheirs = policy == .storeTrump || policy == .rollback
        #expect(content.name == (isTheirs ? "parent's" : "mine"))
        #expect(content.size == (policy == .rollback ? 0 : 1))
        #expect(mine.name == content.name && mine.size == content.size && !child.hasChanges)
        #expect(parent.insertedObjects.map(\.id) == [extra.id])
    }

    @Test func `edits that the parent made before the child's, or saved, cause no conflict`() throws
    {
        content.name = "before"
        mine.name = "mine"
        try child.save()
        #expect(content.name == "mine")
        mine.name = "again"
        content.size = 2
        content.name = "saved"
        try parent.save()
        try child.save()
        #expect(content.name == "again" && content.size == 2)
    }

    @Test(arguments: MergePolicy.allCases)
    func `edits of an object that the parent deleted are a conflict or dropped`(policy: MergePolicy)
        throws
    {
        mine.name = "mine"
        parent.delete(content)
        #expect(mine.isDeleted)
        if policy == .error {
            let error = try #require(throws: TandemError.self) { try child.save() }
            #expect(error.code == .conflict && error.conflicts.first?.theirs == nil)
            #expect(child.hasChanges)
            child.rollback()
        }
        try child.save(policy: policy)
        #expect(!child.hasChanges && parent.deletedObjects == [content] && mine.isDeleted)
    }

    @Test(arguments: MergePolicy.allCases)
    func `a deletion of an object that the parent changed is resolved by the policy`(
        policy: MergePolicy
    ) throws {
        child.delete(mine)
        content.name = "changed"
        if policy == .error {
            let error = try #require(throws: TandemError.self) { try child.save() }
            #expect(error.code == .conflict && mine.isDeleted && !content.isDeleted)
            child.rollback()
        } else {
            try child.save(policy: policy)
        }
        let stays = [.error, .storeTrump, .rollback].contains(policy)
        #expect(content.isDeleted == !stays && mine.isDeleted == !stays)
        if stays { #expect(mine.name == "changed") }
    }

    @Test func `edits stay in the child while the parent's save is in flight`() async throws {
        content.name = "flying"
        mine.size = 1
        let parent = parent
        let save = Task { @MainActor in try await parent.save() }
        while parent.hasChanges { await Task.yield() }
        #expect(mine.name == "flying" && mine.size == 1)
        try await child.save()
        _ = try await save.value
        #expect(content.size == 1 && content.changedValues() == ["size": .int(1)])
        try await parent.save()
        try await other.resume()
        #expect(theirs.size == 1 && theirs.name == "flying")
    }
}

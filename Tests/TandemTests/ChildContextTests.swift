import Observation
import Tandem
import TandemIO
import Testing

/// Contexts that save into another one.
@MainActor @Suite struct ChildContextTests {
    let fixture: Fixture
    let parent: ManagedObjectContext
    let child: ManagedObjectContext
    let other: ManagedObjectContext

    init() throws {
        fixture = try Fixture([Bucket.self, Content.self, Item.self, Tag.self])
        parent = fixture.container("family").makeContext(name: "parent")
        child = parent.makeChild(name: "child")
        other = fixture.container("other").makeContext(name: "other")
    }

    /// Returns saved contents with these names.
    private func contents(_ names: String...) throws -> [Content] {
        let contents = try names.map { name in
            let content = try parent.insert(Content.self)
            content.name = name
            return content
        }
        try parent.save()
        return contents
    }

    private func twin<Object: ManagedObject>(
        _ object: Object, in context: ManagedObjectContext
    ) throws -> Object {
        try #require(try context.existingObject(with: object.id) as? Object)
    }

    private func names(_ context: ManagedObjectContext) throws -> [String] {
        try context.fetch(Content.self, sort: ["name"]).map(\.name)
    }

    // MARK: Reading and saving

    @Test func `shows what its parent has edited, and its own edits only itself`() throws {
        let content = try #require(try contents("a").first)
        let mine = try twin(content, in: child)
        #expect(mine !== content && mine.managedObjectContext === child && child.parent === parent)
        content.name = "b"
        #expect(mine.name == "b" && !mine.hasChanges && !child.hasChanges)
        mine.size = 4
        #expect(content.size == 0 && mine.size == 4 && mine.changedValues() == ["size": .int(4)])
        #expect(mine.committedValues(forKeys: ["name"]) == ["name": .string("b")])
        content.name = "c"
        #expect(mine.name == "c" && child.updatedObjects == [mine])
    }

    @Test func `saves into its parent, and writes nothing`() throws {
        let content = try #require(try contents("a").first)
        let mine = try twin(content, in: child)
        mine.name = "b"
        let end = try #require(parent.position)
        #expect(try child.save() == end && child.tools.lastReceipt == nil)
        #expect(content.name == "b" && parent.updatedObjects == [content] && !child.hasChanges)
        #expect(try names(other) == ["a"])
        try other.reach(try parent.save())
        #expect(try names(other) == ["b"] && mine.name == "b" && !mine.hasChanges)
    }

    @Test func `an awaited save works too, and a save without edits does nothing`() async throws {
        _ = try contents("a")
        let end = try #require(parent.position)
        #expect(try await child.save() == end && !parent.hasChanges)
        try child.insert(Content.self).name = "b"
        #expect(try await child.save() == end)
        #expect(parent.insertedObjects.count == 1)
    }

    @Test func `a new object has its final id, and is one object in every context`() throws {
        let mine = try child.insert(Content.self)
        mine.name = "new"
        #expect(mine.isInserted && child.insertedObjects == [mine] && !parent.hasChanges)
        #expect(try names(child) == ["new"] && names(parent) == [])
        try child.save()
        #expect(!mine.isInserted && !mine.hasChanges && mine.name == "new")
        let content = try twin(mine, in: parent)
        #expect(content.isInserted && content.name == "new")
        #expect(try child.fetch(Content.self) == [mine] && parent.fetch(Content.self) == [content])
        try other.reach(try parent.save())
        #expect(try other.fetch(Content.self).map(\.id) == [mine.id])
        #expect(!content.isInserted && mine.name == "new")
    }

    @Test func `an edit back to the parent's value is not an edit in either context`() throws {
        let content = try #require(try contents("a").first)
        content.name = "b"
        let mine = try twin(content, in: child)
        mine.name = "c"
        mine.name = "b"
        #expect(!mine.hasChanges)
        mine.name = "a"
        #expect(mine.hasChanges)
        try child.save()
        #expect(!content.hasChanges && mine.name == "a")
    }

    @Test func `a deletion hides the object in the child, and in the parent once it is saved`()
        throws
    {
        let all = try contents("a", "b")
        child.delete(try twin(all[0], in: child))
        #expect(try names(child) == ["b"] && names(parent) == ["a", "b"])
        try child.save()
        #expect(try names(parent) == ["b"] && parent.deletedObjects == [all[0]])
        #expect(throws: TandemError.self) { try child.existingObject(with: all[0].id) }
        try parent.save()
        #expect(try names(other) == ["b"])
    }

    @Test func `an object inserted in the parent may be deleted in the child`() throws {
        let content = try parent.insert(Content.self)
        content.name = "new"
        let mine = try twin(content, in: child)
        #expect(!mine.isInserted && mine.name == "new")
        child.delete(mine)
        try child.save()
        #expect(content.isDeleted && !parent.hasChanges)
        #expect(try names(child) == [] && names(parent) == [])
    }

    @Test func `children have children, which see all layers below`() throws {
        let content = try #require(try contents("a").first)
        let grandchild = child.makeChild(name: "grandchild")
        let its = try twin(content, in: grandchild)
        content.name = "b"
        try twin(content, in: child).size = 1
        #expect(its.name == "b" && its.size == 1)
        let new = try grandchild.insert(Content.self)
        its.size = 2
        try grandchild.save()
        #expect(content.size == 0 && parent.updatedObjects == [content])
        #expect(try child.fetch(Content.self).count == 2 && child.insertedObjects.count == 1)
        try child.save()
        #expect(content.size == 2 && parent.insertedObjects.map(\.id) == [new.id])
        try parent.save()
        #expect(its.size == 2 && !new.isInserted && !grandchild.hasChanges)
    }

    // MARK: Relationships

    @Test func `both ends of a relationship change in the child alone, then in the parent`() throws
    {
        let content = try #require(try contents("a").first)
        let (old, new) = (try parent.insert(Bucket.self), try parent.insert(Bucket.self))
        content.bucket = old
        let mine = try twin(content, in: child)
        let (from, to) = (try twin(old, in: child), try twin(new, in: child))
        #expect(from.contents == [mine] && mine.bucket === from)
        mine.bucket = to
        #expect(from.contents.isEmpty && to.contents == [mine])
        #expect(old.contents == [content] && new.contents.isEmpty)
        try child.save()
        #expect(old.contents.isEmpty && new.contents == [content] && content.bucket === new)
        try parent.save()
        #expect(from.contents.isEmpty && to.contents == [mine] && !to.hasChanges)
    }

    @Test func `many-to-many links can be edited from either end`() throws {
        let (item, tag) = (try parent.insert(Item.self), try parent.insert(Tag.self))
        try parent.save()
        let (mine, mark) = (try twin(item, in: child), try twin(tag, in: child))
        let extra = try child.insert(Tag.self)
        mark.items = [mine]
        mine.add(extra, to: "tags")
        #expect(mine.tags == [mark, extra] && item.tags.isEmpty)
        try child.save()
        #expect(item.tags.count == 2 && tag.items == [item] && mine.tags == [mark, extra])
        mine.tags = []
        #expect(item.tags.count == 2)
        try child.save()
        #expect(item.tags.isEmpty && tag.items.isEmpty)
        try parent.save()
        #expect(try other.fetch(Tag.self).count == 2)
    }

    @Test func `a member that both contexts moved has one owner, seen from every side`() throws {
        let content = try #require(try contents("a").first)
        let buckets = try (0..<3).map { _ in try parent.insert(Bucket.self) }
        content.bucket = buckets[0]
        try parent.save()
        let mine = try twin(content, in: child)
        let its = try buckets.map { try twin($0, in: child) }
        mine.bucket = its[1]
        content.bucket = buckets[2]
        #expect(its.map(\.contents.count) == [0, 1, 0])
        // Once its bucket is the parent's again, the object follows the parent.
        mine.bucket = its[2]
        #expect(its.map(\.contents.count) == [0, 0, 1])
        content.bucket = buckets[0]
        #expect(its.map(\.contents.count) == [1, 0, 0] && mine.bucket === its[0])
    }

    // MARK: Undo and rollback

    @Test func `undo is separate per context, and a child's save is one undo step of the parent`()
        throws
    {
        parent.allowsUndo = true
        child.allowsUndo = true
        let all = try contents("a", "b")
        let mine = try all.map { try twin($0, in: child) }
        mine[0].name = "x"
        mine[1].name = "y"
        child.undo()
        #expect(mine.map(\.name) == ["x", "b"] && all[0].name == "a")
        child.redo()
        let new = try child.insert(Content.self)
        try child.save()
        #expect(!child.canUndo && parent.canUndo)
        parent.undo()
        #expect(all.map(\.name) == ["a", "b"] && mine.map(\.name) == ["a", "b"])
        #expect(new.isDeleted && !parent.hasChanges && !parent.canUndo)
        parent.redo()
        #expect(mine.map(\.name) == ["x", "y"] && !new.isDeleted)
        #expect(try parent.fetch(Content.self).count == 3)
    }

    @Test func `rolling back or releasing a child leaves the parent as it is`() throws {
        let content = try #require(try contents("a").first)
        content.name = "b"
        let mine = try twin(content, in: child)
        mine.name = "c"
        let new = try child.insert(Content.self)
        child.rollback()
        #expect(mine.name == "b" && new.isDeleted && !child.hasChanges && parent.hasChanges)
        mine.size = 2
        child.reset()
        #expect(mine.size == 0 && mine.name == "b" && content.name == "b")
        do {
            let form = parent.makeChild(name: "form")
            try form.insert(Content.self).name = "lost"
            try twin(content, in: form).name = "lost"
        }
        #expect(content.name == "b" && parent.updatedObjects == [content])
        #expect(try names(parent) == ["b"])
    }

    @Test func `an object whose insert the parent rolls back is deleted in the child`() throws {
        let content = try parent.insert(Content.self)
        content.name = "new"
        let mine = try twin(content, in: child)
        mine.size = 3
        parent.rollback()
        #expect(mine.isDeleted)
        #expect(try names(child) == [])
        try child.save(policy: .objectTrump)
        #expect(!parent.hasChanges && !child.hasChanges)
    }

    /// The shrunk case of `TANDEM_SEED=20261126` of ChildRandomTests.
    @Test func `a link to an object whose insert the parent rolled back becomes null`() throws {
        let content = try parent.insert(Content.self)
        try parent.save()
        let bucket = try parent.insert(Bucket.self)
        let mine = try twin(content, in: child)
        mine.bucket = try twin(bucket, in: child)
        parent.rollback()
        #expect(mine.bucket == nil)
        try child.save(policy: .objectTrump)
        #expect(content.bucket == nil)
        try parent.save(policy: .objectTrump)
        #expect(content.bucket == nil && !content.isDeleted)
        #expect(try parent.fetch(FetchRequest(entity: "Content")).map(\.id) == [content.id])
    }

    @Test func `an object that fails validation keeps the child's edits in the child`() throws {
        let fixture = try Fixture([Strict.self])
        let parent = fixture.container().makeContext(name: "parent")
        let child = parent.makeChild(name: "child")
        try child.insert(Strict.self).name = "good"
        let bad = try child.insert(Strict.self)
        bad.name = " bad"
        #expect(throws: TandemError.self) { try child.save() }
        #expect(child.insertedObjects.count == 2 && !parent.hasChanges)
        bad.name = "better"
        try child.save()
        #expect(parent.insertedObjects.count == 2)
    }

    @Test func `an observer of an object in the child is notified of edits in the contexts below`()
        throws
    {
        let content = try #require(try contents("a").first)
        let grandchild = child.makeChild(name: "grandchild")
        let mine = try twin(content, in: grandchild)
        for edit in [
            { content.name = "b" }, { parent.rollback() },
            { try twin(content, in: child).name = "c" }, { try child.save() },
            { try parent.save() },
        ] as [() throws -> Void] {
            let count = Locked(0)
            withObservationTracking {
                _ = mine.name
            } onChange: {
                count.withLock { $0 += 1 }
            }
            try edit()
            #expect(count.withLock { $0 } == 1)
        }
    }
}

import Glibc
import Tandem
import TandemDaemon
import TandemEmbedded
import TandemIO
import Testing

/// Containers over a store in memory only.
@MainActor @Suite struct InMemoryTests {
    private func content(_ context: ManagedObjectContext, _ name: String) throws -> Content {
        let content = try context.insert(Content.self)
        content.name = name
        return content
    }

    @Test
    func `a container in memory saves, merges and lists like any other, with a store of its own`()
        throws
    {
        let container = try PersistentContainer.inMemory(
            entities: [Bucket.self, Content.self], author: "a")
        let (first, second) = (
            container.makeContext(name: "first"), container.makeContext(name: "second")
        )
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", predicate: try ObjectPredicate(format: "bucket.name = 'b'"),
                sort: [SortKey("name")]),
            context: second)
        try list.performFetch()
        let bucket = try first.insert(Bucket.self)
        bucket.name = "b"
        for number in 0..<300 { try content(first, "\(number)").bucket = bucket }
        try second.reach(try first.save())
        #expect(list.numberOfObjects == 300)
        first.delete(bucket)
        try second.reach(try first.save())
        #expect(list.numberOfObjects == 0)
        let other = try PersistentContainer.inMemory(
            model: ManagedObjectModel(Bucket.self, Content.self))
        #expect(try other.end().number == 1)
    }

    @Test func `a container in memory leaves no file in any directory while it runs`() throws {
        let configuration = DaemonConfiguration.inMemory()
        let daemon = try EmbeddedDaemon(configuration)
        #expect(!RealFileSystem().exists(configuration.store))
        let container = PersistentContainer(
            entities: [Bucket.self, Content.self], transport: daemon.transport)
        let context = container.makeContext(name: "test")
        // More data than the first map holds, in rows and in texts outside the rows.
        for number in 0..<40 {
            try content(context, String(repeating: "\(number) ", count: 60_000))
                .size = number
            try context.save()
        }
        let other = PersistentContainer(
            entities: [Bucket.self, Content.self], transport: daemon.transport)
        let seen = try other.makeContext(name: "other").fetch(Content.self, sort: ["size"])
        #expect(seen.map(\.size) == Array(0..<40))
        #expect(!RealFileSystem().exists(configuration.store))
        try daemon.stop()
        #expect(!RealFileSystem().exists(configuration.store))
    }

    @Test func `a container in memory keeps its daemon, even if only a context is left`() throws {
        func context() throws -> ManagedObjectContext {
            try PersistentContainer.inMemory(entities: [Bucket.self, Content.self])
                .makeContext(name: "left")
        }
        let context = try context()
        _ = try content(context, "here")
        #expect(try context.save().number == 2)
        #expect(try context.fetch(Content.self).map(\.name) == ["here"])
    }
}

import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Batches through a real daemon: their effects, and the changes that contexts and lists show.
@MainActor @Suite struct BatchTests {
    private func fill(_ context: ManagedObjectContext, _ count: Int) throws {
        let rows = (0..<count).lazy.map { index -> BatchValues in
            ["name": "c\(index)", "size": index % 10]
        }
        let result = try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        #expect(result.count == count)
        #expect(result.position == context.position)
    }

    private func list(_ context: ManagedObjectContext) throws -> FetchedResultsController<
        ManagedObject
    > {
        let request = FetchRequest(entity: "Content", sort: ["size", "-name"])
        let list = try FetchedResultsController(
            fetchRequest: request, context: context, sectionNameKeyPath: "size")
        try list.performFetch()
        return list
    }

    @Test func `insert, update and delete are merged by the executing context and by others`()
        throws
    {
        let fixture = try Fixture()
        let container = fixture.container()
        let (context, other) = (container.viewContext, fixture.container("o").viewContext)
        let (mine, its) = (try list(context), try list(other))
        try fill(context, 2_500)
        #expect(try context.count(for: FetchRequest(entity: "Content")) == 2_500)
        let update = try context.execute(
            BatchUpdateRequest(
                Content.self, where: .text("size < 5"), set: ["size": 11, "name": nil]))
        #expect(update.count == 1_250)
        let delete = try context.execute(BatchDeleteRequest(Content.self, where: .text("size = 9")))
        #expect(delete.count == 250)
        #expect(delete.position == context.position)
        #expect(try other.reach(delete.position) == delete.position)
        for list in [mine, its] {
            #expect(list.sections.map(\.name) == ["5", "6", "7", "8", "11"])
            #expect(list.sections.map(\.objectIDs.count) == [250, 250, 250, 250, 1_250])
            let held = list.sections.map(\.objectIDs)
            try list.performFetch()
            #expect(list.sections.map(\.objectIDs) == held)
        }
        #expect(
            try other.fetch(Content.self, where: .text("size = 11"), limit: 1).first?.name == "")
    }

    @Test func `the async forms do the same`() async throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let rows = (0..<1_200).map { index -> BatchValues in ["size": index] }
        let inserted = try await context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        #expect(inserted.count == 1_200)
        let updated = try await context.execute(
            BatchUpdateRequest(
                Content.self, where: .text("size < %d", 3), set: ["name": "x"]))
        #expect(updated.count == 3)
        let deleted = try await context.execute(
            BatchDeleteRequest(Content.self, where: .text("size > 99")))
        #expect(deleted.count == 1_100)
        #expect(try await context.fetch(Content.self).count == 100)
    }

    @Test func `rows of a sequence are pulled as they are sent`() throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        var (taken, most) = (0, 0)
        let rows = AnySequence<BatchValues> {
            AnyIterator {
                taken += 1
                // The rows pulled but not yet stored by the daemon: at most the two latest chunks.
                if taken % 500 == 1 {
                    let count = try? context.count(for: FetchRequest(entity: "Content"))
                    most = max(most, taken - 1 - (count ?? 0))
                }
                return taken <= 5_000 ? ["size": taken] : nil
            }
        }
        #expect(
            try context.execute(BatchInsertRequest(entity: "Content", rows: rows)).count == 5_000)
        // One chunk is inserted while the next is made.
        #expect(most <= 2_000)
    }

    @Test func `rows with relationships refer to objects that exist`() throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        try fill(context, 3)
        let contents = try context.fetch(Content.self)
        let bucket = BatchValues(["name": .string("b")], objects: ["contents": contents.map(\.id)])
        try context.execute(BatchInsertRequest(entity: "Bucket", rows: [bucket]))
        let made = try #require(try context.fetch(Bucket.self).first)
        #expect(made.contents == Set(contents))
        let one = BatchValues(["name": .string("d")], objects: ["bucket": [made.id]])
        try context.execute(BatchInsertRequest(entity: "Content", rows: [one]))
        #expect(made.contents.count == 4)
        try context.execute(
            BatchUpdateRequest(
                FetchRequest(entity: "Content"), set: BatchValues([:], objects: ["bucket": []])))
        #expect(made.contents.isEmpty)
        // Deleting the bucket deletes its contents by cascade.
        try context.execute(
            BatchUpdateRequest(
                FetchRequest(entity: "Content"),
                set: BatchValues([:], objects: ["bucket": [made.id]])))
        #expect(try context.execute(BatchDeleteRequest(Bucket.self)).count == 1)
        #expect(try context.fetch(Content.self).isEmpty)
    }

    @Test func `errors in a batch request are reported before anything is done`() throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        try fill(context, 1)
        func code(_ body: () throws -> Void) -> TandemError.Code? {
            do {
                try body()
                return nil
            } catch {
                return (error as? TandemError)?.code
            }
        }
        let all = FetchRequest(entity: "Content")
        #expect(
            code { try context.execute(BatchDeleteRequest(FetchRequest(entity: "No"))) }
                == .unknownEntity)
        #expect(
            code { try context.execute(BatchUpdateRequest(all, set: ["no": 1])) }
                == .unknownProperty)
        #expect(
            code { try context.execute(BatchUpdateRequest(all, set: ["size": "text"])) }
                == .validation)
        #expect(
            code {
                try context.execute(BatchDeleteRequest(Content.self, where: .text("size = = 1")))
            }
                == .invalidPredicate)
        #expect(
            code {
                let long = BatchValues(["name": .string(String(repeating: "x", count: 70_000))])
                try context.execute(BatchUpdateRequest(all, set: long))
            } == .limitExceeded)
        #expect(
            code {
                let members = BatchValues([:], objects: ["contents": []])
                try context.execute(
                    BatchUpdateRequest(FetchRequest(entity: "Bucket"), set: members))
            } == nil)
        #expect(try context.fetch(Content.self).map(\.name) == ["c0"])
    }

    @Test func `a failure reports how many objects the batch processed, and those are merged`()
        throws
    {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let rows = (0..<3_000).map { index -> BatchValues in
            index == 2_500 ? ["size": "text"] : ["size": index]
        }
        let error = #expect(throws: TandemError.self) {
            try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        }
        #expect(error?.code == .validation)
        #expect(error?.done?.count == 2_500)
        #expect(error?.done?.position == context.position)
        #expect(try context.fetch(Content.self).count == 2_500)
    }

    @Test func `an insert with a row that can't be encoded reports how many rows were inserted`()
        throws
    {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let rows = (0..<3_000).map { index -> BatchValues in
            index == 1_500 ? ["no": 1] : ["size": index]
        }
        let error = #expect(throws: TandemError.self) {
            try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        }
        #expect(error?.code == .unknownProperty && error?.done?.count == 1_500)
        #expect(error?.done?.position == context.position)
        #expect(try context.fetch(Content.self).count == 1_500)
    }

    @Test
    func `an insert that loses its connection between chunks reports how many rows were inserted`()
        throws
    {
        let fixture = try Fixture()
        let container = fixture.container()
        let rows = (0..<3_000).lazy.map { index -> BatchValues in
            if index == 2_500 { container.close() }
            return ["size": index]
        }
        let error = #expect(throws: TandemError.self) {
            try container.viewContext.execute(BatchInsertRequest(entity: "Content", rows: rows))
        }
        #expect(error?.done?.count == 1_000)
    }

    @Test func `an explicit null is inserted in place of the default`() throws {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let rows: [BatchValues] = [["size": nil, "name": "n"], ["name": "d"]]
        try context.execute(BatchInsertRequest(entity: "Content", rows: rows))
        let request = FetchRequest(entity: "Content", sort: ["name"])
        #expect(try context.fetch(request).map { $0["size"] } == [.int(0), .null])
    }

    @Test func `law 3: a batch insert that is repeated under its id inserts the missing rows`()
        throws
    {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        let rows = (0..<2_200).map { index -> BatchValues in ["size": index] }
        func insert(_ count: Int, _ context: ManagedObjectContext) throws -> BatchResult {
            try context.execute(
                BatchInsertRequest(entity: "Content", rows: rows.prefix(count)), id: [1, 2])
        }
        let part = try insert(2_000, context)
        try fixture.restart()
        let other = fixture.container("o").viewContext
        let whole = try insert(2_200, other)
        #expect(whole.count == 2_200 && whole.position > part.position)
        #expect(try insert(2_200, other) == whole)
        #expect(try other.fetch(Content.self).count == 2_200)
    }

    @Test
    func
        `law 3: a batch continues after its connection is lost, and each object is processed once`()
        async throws
    {
        let fixture = try Fixture()
        let context = fixture.container().viewContext
        try fill(context, 6_000)
        let watcher = fixture.container("w")
        try await watcher.follow()
        let (ready, isReady) = AsyncStream<Void>.makeStream()
        let trouble = Task {
            var saves = watcher.didSave.makeAsyncIterator()
            isReady.finish()
            var (deleted, cuts) = (0, 0)
            while deleted < 6_000, let save = try await saves.next() {
                // All sockets are cut, including the watcher's.
                if cuts < 3 { fixture.cutConnections() }
                cuts += 1
                deleted += save.deleted.count
            }
            return deleted
        }
        for await _ in ready {}
        let result = try await context.execute(BatchDeleteRequest(Content.self))
        #expect(result.count == 6_000)
        #expect(try await trouble.value == 6_000)
        #expect(try await context.fetch(Content.self).isEmpty)
    }
}

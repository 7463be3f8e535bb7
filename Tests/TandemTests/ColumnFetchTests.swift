import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Fetches of values and groups, which the daemon computes from saved data, now and at earlier
/// positions.
@MainActor @Suite struct ColumnFetchTests {
    let container: PersistentContainer
    let context: ManagedObjectContext
    let filled: Position

    init() throws {
        container = try PersistentContainer.inMemory(entities: [Bucket.self, Content.self])
        let context = container.makeContext(name: "test")
        let buckets = try ["red", "blue"].map { name in
            let bucket = try context.insert(Bucket.self)
            bucket.name = name
            return bucket
        }
        for number in 0..<10 {
            let content = try context.insert(Content.self)
            content.name = "c\(number % 3)"
            content.size = number
            content.bucket = number == 9 ? nil : buckets[number % 2]
        }
        self.context = context
        filled = try context.save()
    }

    private let byBucket = FetchColumns(
        ["bucket.name", "@count", "@sum.size", "@avg.size"], groupBy: ["bucket.name"])

    private func row(_ name: String?, _ count: Int64, _ sum: Int64, _ mean: Double)
        -> [String: PropertyValue]
    {
        [
            "bucket.name": name.map { .string($0) } ?? .null, "@count": .int(count),
            "@sum.size": .int(sum), "@avg.size": .double(mean),
        ]
    }

    @Test func `groups are computed by the daemon`() throws {
        let request = FetchRequest(entity: "Content")
        let expected = [row(nil, 1, 9, 9), row("blue", 4, 16, 4), row("red", 5, 20, 4)]
        let blocking = try context.fetchDictionaries(request, byBucket)
        #expect(blocking == expected)
        var some = FetchRequest(entity: "Content", sort: ["-@sum.size"], limit: 1)
        some.predicate = try ObjectPredicate(format: "size < 9")
        #expect(try context.fetchDictionaries(some, byBucket) == [row("red", 5, 20, 4)])
    }

    @Test func `groups are filtered by their results`() throws {
        let request = FetchRequest(entity: "Content")
        var columns = byBucket
        columns.having = try ObjectPredicate(format: "@count > 3 AND @sum.size >= 17")
        #expect(try context.fetchDictionaries(request, columns) == [row("red", 5, 20, 4)])
        columns.having = try ObjectPredicate(format: "bucket.name == nil")
        #expect(try context.fetchDictionaries(request, columns) == [row(nil, 1, 9, 9)])
        columns.having = try ObjectPredicate(format: "@min.size > 3")
        let error = try #require(throws: TandemError.self) {
            try context.fetchDictionaries(request, columns)
        }
        #expect(error.code == .invalidPredicate && error.message.contains("@min.size"))
        var deep = PredicateTree.constant(true)
        for _ in 0..<100 { deep = .not(deep) }
        columns.having = ObjectPredicate(deep)
        let refusal = try #require(throws: TandemError.self) {
            try context.fetchDictionaries(request, columns)
        }
        #expect(refusal.code == .limitExceeded)
        #expect(try context.fetchDictionaries(request, byBucket).count == 3)
    }

    @Test func `pending edits are not included, saved ones are`() throws {
        let request = FetchRequest(entity: "Content")
        let before = try context.fetchDictionaries(request, byBucket)
        let other = container.makeContext(name: "other")
        let nine = try #require(try other.fetch(Content.self, where: .text("size = 9")).first)
        nine.size = 19
        #expect(try other.fetchDictionaries(request, byBucket) == before)
        let position = try other.save()
        let after = try context.fetchDictionaries(request, byBucket)
        #expect(after.first == row(nil, 1, 19, 19))
        #expect(context.position == position)
        // A group name reached through a relationship also changes with the save.
        let red = try #require(try other.fetch(Bucket.self, where: .text("name = 'red'")).first)
        red.name = "green"
        try other.save()
        let names = try context.fetchDictionaries(request, byBucket).map { $0["bucket.name"] }
        #expect(names == [.null, .string("blue"), .string("green")])
        #expect(try context.fetchDictionaries(request, byBucket, at: filled) == before)
    }

    @Test func `groups can be awaited`() async throws {
        let request = FetchRequest(entity: "Content")
        let now = try await context.fetchDictionaries(request, byBucket)
        #expect(now.map { $0["@count"] } == [.int(1), .int(4), .int(5)])
        let then = try await context.fetchDictionaries(request, byBucket, at: filled)
        #expect(then == now)
    }

    @Test func `rows of values follow order, limit and distinctness`() throws {
        let request = FetchRequest(entity: "Content", sort: ["-size"], limit: 2, offset: 1)
        let rows = try context.fetchDictionaries(request, FetchColumns(["name", "size"]))
        #expect(
            rows == [
                ["name": .string("c2"), "size": .int(8)], ["name": .string("c1"), "size": .int(7)],
            ])
        let distinct = FetchColumns(["name"], isDistinct: true)
        #expect(
            try context.fetchDictionaries(request, distinct)
                == [["name": .string("c2")], ["name": .string("c1")]])
    }

    @Test func `a child context sends the request to the daemon as well`() throws {
        let child = context.makeChild(name: "child")
        let request = FetchRequest(entity: "Content")
        #expect(
            try child.fetchDictionaries(request, byBucket)
                == context.fetchDictionaries(request, byBucket))
    }

    @Test(arguments: [
        FetchColumns([]), FetchColumns(["name", "@count"]), FetchColumns(["@sum.name"]),
        FetchColumns(Array(repeating: "name", count: 200)),
    ])
    func `columns that make no sense are refused`(_ columns: FetchColumns) {
        #expect {
            try context.fetchDictionaries(FetchRequest(entity: "Content"), columns)
        } throws: {
            ($0 as? TandemError)?.code == .usage
        }
        #expect {
            try context.fetchDictionaries(
                FetchRequest(entity: "Content"), FetchColumns(["weight"]))
        } throws: {
            ($0 as? TandemError)?.code == .unknownProperty
        }
    }
}

import TandemDaemon
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Fetches at an earlier position.
@MainActor @Suite struct PastReadTests {
    private let sorted = FetchRequest(entity: "Content", sort: ["bucket.name", "size"])

    @Test func `law 6: a fetch at a position returns what a fetch made there returned`()
        async throws
    {
        let fixture = try Fixture()
        let (writer, reader) = (
            fixture.container().makeContext(name: "writer"),
            fixture.container().makeContext(name: "reader")
        )
        var moments: [(position: Position, values: [[String: PropertyValue]], ids: [ObjectID])] = []
        let buckets = try (0..<3).map { number in
            let bucket = try writer.insert(Bucket.self)
            bucket.name = "b\(number)"
            return bucket
        }
        for round in 0..<8 {
            let content = try writer.insert(Content.self)
            content.size = round
            content.bucket = buckets[round % 3]
            buckets[(round + 1) % 3].name = "c\(10 - round)"
            let all = try await writer.fetch(sorted)
            if round % 3 == 2, let first = all.first { writer.delete(first) }
            let position = try await writer.save()
            let found = try await writer.fetch(sorted)
            moments.append((position, found.map(\.snapshot.values), found.map(\.id)))
        }
        for moment in moments.reversed() {
            let found = try await reader.fetch(sorted, at: moment.position)
            #expect(found.map(\.id) == moment.ids)
            #expect(found.map(\.values) == moment.values)
            #expect(found.allSatisfy { $0.version <= moment.position.number })
            let count = try await reader.count(for: sorted, at: moment.position)
            #expect(count == moment.ids.count)
        }
        // The context keeps its position, and its pending edits are not included.
        #expect(reader.position == moments.last?.position)
        _ = try reader.insert(Content.self)
        let again = try await reader.fetch(sorted, at: moments[2].position)
        #expect(again.map(\.id) == moments[2].ids)
        let bucket = again.compactMap { $0["bucket"].reference }.first
        #expect(bucket.flatMap(reader.objectID(for:)).map(buckets.map(\.id).contains) == true)
    }

    @Test func `members are read as they were`() throws {
        let fixture = try Fixture()
        let context = fixture.container().makeContext(name: "one")
        let bucket = try context.insert(Bucket.self)
        let contents = try (0..<3).map { _ in
            let content = try context.insert(Content.self)
            content.bucket = bucket
            return content
        }
        let before = try context.save()
        let ids = contents.map(\.id)
        contents[0].bucket = nil
        context.delete(contents[1])
        try context.save()
        let request = FetchRequest(entity: "Bucket")
        let then = try context.fetch(request, at: before, members: ["contents"])
        #expect(then.first?.members["contents"] == ids)
        let error = #expect(throws: TandemError.self) {
            try context.fetch(request, at: before, members: ["name"])
        }
        #expect(error?.code == .unknownProperty)
    }

    @Test func `a position outside the readable history is refused`() throws {
        var limits = DaemonLimits()
        limits.lookBackTransactions = 1
        let fixture = try Fixture(limits: limits)
        let context = fixture.container().makeContext(name: "one")
        for _ in 0..<3 {
            _ = try context.insert(Content.self)
            try context.save()
        }
        let end = try context.connect()
        func code(_ position: Position) -> TandemError.Code? {
            do {
                _ = try context.fetch(sorted, at: position)
                return nil
            } catch {
                return (error as? TandemError)?.code
            }
        }
        #expect(code(end) == nil && code(end.at(end.number - 1)) == nil)
        #expect(code(end.at(end.number - 2)) == .limitExceeded)
        #expect(code(end.at(0)) == .historyExpired)
        let other = Position(log: end.log, epoch: end.epoch + 1, number: end.number)
        #expect(code(other) == .historyExpired)
    }
}

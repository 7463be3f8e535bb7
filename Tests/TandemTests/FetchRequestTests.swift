import FoundationEssentials
import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Requests of a class: conditions and sort keys in every form, and errors when they are used.
@MainActor @Suite struct FetchRequestTests {
    private let context: ManagedObjectContext

    init() throws {
        context = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
            .makeContext(name: "test")
        for (number, zone) in ["b", "a", "b", "a"].enumerated() {
            let club = try context.insert(Club.self)
            club.name = "club \(number)"
            club.nickname = zone
            club.wins = number
            let member = try context.insert(Member.self)
            member.name = "member \(number)"
            member.club = club
        }
        try context.save()
    }

    private func code(_ body: () throws -> Void) -> TandemError.Code? {
        do { try body() } catch { return (error as? TandemError)?.code }
        return nil
    }

    @Test func `a request by class is the request by names`() throws {
        let typed = FetchRequest(
            where: \Club.wins > 1 && \.nickname == "a",
            sort: [.ascending(\.nickname), .descending(\.rival?.wins, .compare)], limit: 3,
            offset: 1, includesSubentities: false)
        let named = FetchRequest(
            entity: "Club", predicate: try ObjectPredicate(format: "wins > 1 AND nick == 'a'"),
            sort: ["nick", "-rival.wins"], limit: 3, offset: 1, includesSubentities: false)
        #expect(try typed.descriptor == named.descriptor && typed.untyped == named)
        #expect(typed.sort == ["nick", "-rival.wins"])
        #expect(
            SortKey<Club>(\.name, selector: .naturalCompare).description == "name:naturalCompare")
    }

    @Test func `all forms of a condition fetch, count and delete the same objects`() throws {
        let least = 2
        let requests: [FetchRequest<Club>] = [
            FetchRequest(where: \.wins >= least), FetchRequest(where: .text("wins >= %@", least)),
            FetchRequest(where: #Predicate { $0.wins >= least }),
            FetchRequest(where: .text("%K IN %@", "wins", [2, 3])),
            FetchRequest(where: TypedPredicate(#Predicate<Club> { $0.wins > 1 }) && \.wins < 9),
        ]
        for var request in requests {
            request.sort = [.descending(\.wins)]
            #expect(try context.fetch(request).map(\.wins) == [3, 2])
            #expect(try context.count(for: request) == 2)
            #expect(try context.fetchIDs(request).count == 2)
        }
        let inferred = FetchRequest(where: #Predicate<Club> { $0.wins >= least })
        #expect(try context.count(for: inferred) == 2)
        let members = try context.fetch(Member.self, where: \.club?.wins == 3)
        #expect(members.map(\.name) == ["member 3"])
        let club = try #require(members[0].club)
        #expect(try context.fetch(Member.self, where: \.club == club) == members)
        #expect(try context.fetch(Member.self, where: \.club != club).count == 3)
        #expect(try context.fetch(Member.self, where: .text("club == %@", club)) == members)
        // The class is that of the first argument, whatever the number of comparisons.
        let some = try context.fetch(
            Club.self, where: \.wins > 0 && \.wins < 3 || \.nickname == "x")
        #expect(some.count == 2)
        let both = FetchRequest(Club.self, where: !(\.wins > 2) && \.nickname == "a")
        #expect(try context.count(for: both) == 1)
        _ = try context.saves(of: Club.self, where: \.wins > 2 && \.nickname == "a")
        _ = try context.observe(Club.self, where: \.wins > 2 && \.nickname == "a") { _ in }
        #expect(
            BatchDeleteRequest(Club.self, where: \.wins > 2 && \.nickname == "a").fetchRequest.limit
                == nil)
        let update = BatchUpdateRequest(Club.self, where: \.wins == 3, set: ["wins": 7])
        #expect(try context.execute(update).count == 1)
        #expect(try context.execute(BatchDeleteRequest(requests[0])).count == 2)
        #expect(try context.count(for: FetchRequest<Club>()) == 2)
    }

    @Test func `errors of conditions and sort keys are thrown by the call`() async throws {
        let computed = FetchRequest(where: \Club.doubled > 2)
        let unordered = FetchRequest(Club.self, sort: [.ascending(\.isClosed)])
        let unparsed = FetchRequest(Club.self, where: .text("wins >"))
        let unfilled = FetchRequest(Club.self, where: .text("wins > %@ AND wins < %@", 1))
        for (request, expected) in [
            (computed, TandemError.Code.usage), (unordered, .usage), (unparsed, .invalidPredicate),
            (unfilled, .invalidPredicate),
        ] {
            #expect(code { _ = try context.fetch(request) } == expected)
            #expect(code { _ = try context.fetchIDs(request) } == expected)
            #expect(code { _ = try context.count(for: request) } == expected)
            #expect(code { _ = try context.execute(BatchDeleteRequest(request)) } == expected)
            await #expect(throws: TandemError.self) {
                for try await _ in context.batches(for: request) { Issue.record("a batch") }
            }
        }
        var repaired = computed
        repaired.predicate = try ObjectPredicate(format: "wins > 2")
        #expect(computed.predicate == nil)
        #expect(try await context.count(for: repaired) == 1)
        #expect(try await context.count(for: FetchRequest<Club>()) == 4)
    }

    @Test func `a controller lists objects of its class by index path and section`() throws {
        let table = try FetchedResultsController(
            fetchRequest: FetchRequest(
                Club.self, sort: [.ascending(\.nickname), .descending(\.wins)]),
            context: context, sectionNameKeyPath: \.nickname)
        try table.performFetch()
        #expect(table.sections.map(\.name) == ["a", "b"])
        #expect(table.objects(inSection: 0).map(\.wins) == [3, 1])
        #expect(table[ResultsIndexPath(section: 1, item: 0)].wins == 2)
        #expect(table.fetchedObjects.map(\.name).count == 4)
        #expect(table.object(atOffset: 3).wins == 0)
        let request = table.fetchRequest
        #expect(
            code {
                _ = try FetchedResultsController(
                    fetchRequest: request, context: context, sectionNameKeyPath: \.isClosed)
            } == .usage)
        #expect(
            code {
                _ = try FetchedResultsController(
                    fetchRequest: FetchRequest(Club.self, sort: [.ascending(\.doubled)]),
                    context: context)
            } == .usage)
    }

    /// A class with the entity of `Club`, whose objects the container creates.
    private final class Guild: ManagedObject, ManagedEntity {
        static var entity: Entity { Club.entity }
    }

    @Test func `a list of another class than the container's is refused`() throws {
        let table = try FetchedResultsController(
            fetchRequest: FetchRequest(Guild.self, sort: ["name"]), context: context)
        #expect(code { try table.performFetch() } == .usage)
    }

    @Test func `an insert of another class than the container's is refused, and leaves nothing`()
        throws
    {
        #expect(code { _ = try context.insert(Guild.self) } == .usage)
        #expect(!context.hasChanges)
    }

    @Test func `an edit that changes only the code points of a text is saved`() throws {
        let club = try #require(try context.fetch(Club.self, sort: [.ascending(\.wins)]).first)
        let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
        club.name = composed
        try context.save()
        club.name = decomposed
        #expect(context.hasChanges)
        try context.save()
        context.refreshAllObjects()
        #expect(Array(club.name.utf8) == Array(decomposed.utf8))
        #expect(try context.fetch(Club.self, where: \.name == decomposed).count == 1)
        #expect(try context.fetch(Club.self, where: \.name == composed).isEmpty)
    }

    @Test func `saves of a class are delivered without a condition`() async throws {
        var heard = 0
        let observer = try context.observe(Club.self) { event in
            if case .saved(let save) = event { heard += save.updated.count }
        }
        var saves = try context.saves(of: Club.self).makeAsyncIterator()
        let member = try await context.fetch(Member.self)[0]
        member.name = "other"
        try await context.save()
        let clubs = try await context.fetch(Club.self)
        clubs[0].nickname = "other"
        let position = try await context.save()
        #expect(try await saves.next()?.position == position && heard == 1)
        withExtendedLifetime(observer) {}
    }

    @Test func `saves are filtered by conditions of a class`() async throws {
        var heard: [Int] = []
        let observer = try context.observe(Club.self, where: \.wins > 2) { event in
            if case .saved(let save) = event { heard.append(save.updated.count) }
        }
        var saves = try context.saves(of: Club.self, where: \.nickname == "new").makeAsyncIterator()
        let clubs = try await context.fetch(Club.self, sort: [.ascending(\.wins)])
        clubs[3].nickname = "other"
        clubs[0].nickname = "other"
        try await context.save()
        clubs[1].nickname = "new"
        let position = try await context.save()
        #expect(try await saves.next()?.position == position)
        #expect(heard == [1])
        #expect(code { _ = try context.saves(of: Club.self, where: \.doubled > 2) } == .usage)
        withExtendedLifetime(observer) {}
    }
}

import Observation
import TandemEmbedded
import TandemIO
import TandemModel
import Testing

@testable import Tandem

/// Lists of literal values of any type, and what all lists offer to their readers.
@MainActor @Suite struct LiteralListTests {
    /// A row type as declared by a view module, which does not depend on managed classes.
    private struct Line: Equatable {
        var title: String
        var minute: Int
        var hour: Int { minute / 60 }
    }

    private let lines = [
        Line(title: "a", minute: 10), Line(title: "b", minute: 50), Line(title: "c", minute: 70),
    ]

    @Test func `a list of plain values has sections and no store`() throws {
        let flat = FetchedResults(values: lines)
        #expect(Array(flat) == lines && flat.sections.map(\.id) == [""])
        let named = FetchedResults(values: lines, sectionName: { "\($0.hour)" })
        #expect(named.sections.map(\.id) == ["0", "1"])
        #expect(named.sections.map(\.objects) == [Array(lines[..<2]), [lines[2]]])
        let hours = SectionedFetchResults(values: lines, sectionIdentifier: \.hour)
        #expect(hours.sections.map(\.id) == [0, 1])
        hours.source = .values([lines[2], lines[0]])
        #expect(hours.sections.map(\.id) == [1, 0] && hours.error == nil)

        let context = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
            .makeContext(name: "test")
        hours.request = ResultsRequest(sort: ["name"])
        hours.source = .store(context)
        #expect(hours.error?.code == .usage)
        #expect(hours.error?.message.contains("ObjectValue") == true)
    }

    @Test func `objects of a store in memory are listed, edited and observed without a container`()
        throws
    {
        let context = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
            .viewContext
        // The objects refer to their context weakly.
        defer { withExtendedLifetime(context) {} }
        let club = try context.insert(Club.self)
        let member = try context.insert(Member.self)
        (club.name, member.name, member.club) = ("a", "Roger", club)
        let list = FetchedResults(values: [member], sectionName: { $0.club?.name ?? "" })
        #expect(list.sections.map(\.id) == ["a"] && list.first?.name == "Roger")
        let isNotified = Locked(false)
        withObservationTracking {
            _ = list.first?.club?.name
        } onChange: {
            isNotified.withLock { $0 = true }
        }
        club.name = "b"
        #expect(isNotified.withLock { $0 } && list.first?.club?.name == "b")
    }

    @Test func `each reader of signals gets one for every published list, and none for values`()
        async throws
    {
        let context = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
            .makeContext(name: "test")
        var list: FetchedResults<Club>? = FetchedResults(
            source: .store(context), request: ResultsRequest(sort: ["name"]))
        var signals = [list, list].compactMap { $0?.signals().makeAsyncIterator() }
        let club = try context.insert(Club.self)
        club.name = "a"
        try await context.save()
        try context.insert(Club.self).name = "b"
        try await context.save()
        // Unread signals count as one.
        for reader in signals.indices {
            #expect(await signals[reader].next(isolation: #isolation) != nil)
        }
        let revised = list?.signals()
        club.wins = 5
        try await context.save()
        // An unread signal would be delivered before the end.
        list = nil
        for await _ in try #require(revised) { Issue.record("a signal for a value") }
    }

    @Test func `the stream of signals ends with the list`() async throws {
        var list: FetchedResults<Line>? = FetchedResults(values: lines)
        let signals = try #require(list?.signals())
        list = nil
        for await _ in signals { Issue.record("a signal") }
    }

    @Test func `an object prints its id and the values that are held`() throws {
        let container = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
        let (context, other) = (container.makeContext(name: "a"), container.makeContext(name: "b"))
        let club = try context.insert(Club.self)
        club.name = String(repeating: "x", count: 61)
        let member = try context.insert(Member.self)
        (member.name, member.goals, member.club) = ("Roger", 4, club)
        #expect("\(member)" == "\(member.id) (club: \(club.id), goals: 4, name: \"Roger\")")
        let shown = String(repeating: "x", count: 60)
        #expect("\(club)".contains("name: \"\(shown)…\", nick: null"))
        try context.save()
        let seen = try other.object(with: member.id)
        #expect("\(seen)" == "\(member.id) (not loaded)")
        #expect(seen.isFault)
        context.delete(member)
        #expect("\(member)" == "\(member.id) (deleted)")
    }
}

import FoundationEssentials
import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

/// Predicates over optionals find the objects that Swift's own evaluation of them accepts.
@MainActor @Suite struct OptionalPredicateTests {
    private let context: ManagedObjectContext
    private let clubs: [Club]

    /// Inserts clubs with and without nicknames, ranks, rivals and members, in most combinations
    /// that an optional chain may encounter.
    init() throws {
        let container = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
        context = container.makeContext(name: "test")
        let nicknames = ["abc", nil, "xyz", "", nil, "a", nil]
        let rivals = [nil, 0, 1, 2, nil, 0, 4]
        let goals: [[Int]] = [[], [3], [1, 5], [], [7], [0], []]
        var clubs: [Club] = []
        for number in nicknames.indices {
            let club = try context.insert(Club.self)
            club.name = "club \(number)"
            club.nickname = nicknames[number]
            club.wins = number / 2
            club.rank = number % 3 == 0 ? nil : Int64(number)
            club.isOpen = number % 2 == 0
            club.rival = rivals[number].map { clubs[$0] }
            for goals in goals[number] {
                let member = try context.insert(Member.self)
                member.name = "m"
                member.goals = goals
                member.club = club
            }
            clubs.append(club)
        }
        self.clubs = clubs
        try context.save()
    }

    private func check(
        _ predicate: Predicate<Club>, at place: SourceLocation = #_sourceLocation
    ) throws {
        let expected = try clubs.filter { try predicate.evaluate($0) }.map(\.name)
        let found = try context.fetch(Club.self, where: predicate, sort: ["name"]).map(\.name)
        let translated = try ObjectPredicate(predicate).description
        #expect(found == expected, "\(translated)", sourceLocation: place)
    }

    @Test func `values at the end of a chain compare as optionals do`() throws {
        try check(#Predicate { $0.rival?.wins == 1 })
        try check(#Predicate { $0.rival?.wins != 1 })
        try check(#Predicate { !($0.rival?.wins == 1) })
        try check(#Predicate { $0.rival?.rank == nil })
        try check(#Predicate { $0.rival?.nickname == $0.nickname })
        try check(#Predicate { $0.rival?.isOpen != true })
        try check(#Predicate { ($0.rival?.rank ?? 2) == 2 })
        try check(#Predicate { $0.rival?.rival?.name != "club 0" })
    }

    @Test func `conditions at the end of a broken chain differ from true and false`()
        throws
    {
        try check(#Predicate { $0.nickname?.contains("a") == true })
        try check(#Predicate { $0.nickname?.contains("a") != true })
        try check(#Predicate { $0.nickname?.contains("a") == false })
        try check(#Predicate { $0.nickname?.contains("a") != false })
        try check(#Predicate { $0.nickname?.contains("a") == nil })
        try check(#Predicate { true != $0.nickname?.isEmpty })
        try check(#Predicate { $0.rival?.nickname?.contains("a") == false })
        try check(#Predicate { $0.rival?.nickname?.contains("a") != true })
        try check(#Predicate { $0.rival?.nickname?.contains("a") ?? true })
        try check(#Predicate { $0.rival?.members.isEmpty != true })
        try check(#Predicate { $0.rival?.members.contains { $0.goals > 2 } != true })
    }

    @Test func `counts at the end of a broken chain are nil`() throws {
        try check(#Predicate { $0.rival?.members.count == 0 })
        try check(#Predicate { $0.rival?.members.count != 0 })
        try check(#Predicate { 1 == $0.rival?.members.count })
        try check(#Predicate { $0.rival?.members.count == nil })
        try check(#Predicate { $0.rival?.members.count != nil })
        try check(#Predicate { ($0.rival?.members.count ?? 7) > 0 })
        try check(#Predicate { $0.rival?.members.count == $0.rival?.rival?.wins })
        try check(#Predicate { $0.rival?.rival?.members.count == 0 })
        try check(#Predicate { $0.rival?.members.filter { $0.goals > 2 }.count == 0 })
        try check(
            #Predicate { if let count = $0.rival?.members.count { count > 0 } else { true } })
    }

    @Test func `a value beside a broken chain is nil`() throws {
        try check(#Predicate { club in club.rival.flatMap { rival in club.wins } == 1 })
        try check(#Predicate { club in club.rival.flatMap { rival in club.nickname } != nil })
        try check(
            #Predicate { club in
                (club.rival.flatMap { rival in club.nickname } ?? "a") == "a"
            })
    }

    @Test func `nil is found in a list that holds it`() throws {
        let (some, names): ([String?], [String?]) = ([nil, "abc"], ["abc"])
        try check(#Predicate { some.contains($0.nickname) })
        try check(#Predicate { !some.contains($0.nickname) })
        try check(#Predicate { names.contains($0.nickname) })
        try check(#Predicate { !names.contains($0.nickname) })
    }
}

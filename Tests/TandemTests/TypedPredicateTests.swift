import FoundationEssentials
import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

final class Club: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("nick") var nickname: String?
    @Managed("wins") var wins: Int
    @Managed("rank") var rank: Int64?
    @Managed("rate") var rate: Double
    @Managed("open") var isOpen: Bool
    @Managed("founded") var founded: Date
    @Managed("code") var code: UUID?
    @Managed("site") var site: URL?
    @Managed("rival") var rival: Club?
    @Managed("rivals") var rivals: Set<Club>
    @Managed("members") var members: Set<Member>

    var doubled: Int { wins * 2 }
    var isClosed: Bool { !isOpen }
    var both: String { name + (nickname ?? "") }
    var sameWins: Int { wins }

    static var entity: Entity {
        Entity("Club") {
            Attribute("name", .string, optional: false)
            Attribute("nick", .string)
            Attribute("wins", .int, default: .int(0))
            Attribute("rank", .int)
            Attribute("rate", .double, default: .double(0))
            Attribute("open", .bool, default: .bool(false))
            Attribute("founded", .date)
            Attribute("code", .uuid)
            Attribute("site", .url)
            Relationship("rival", to: "Club", inverse: "rivals")
            Relationship("rivals", to: "Club", inverse: "rival", toMany: true)
            Relationship("members", to: "Member", inverse: "club", toMany: true)
        }
    }
}

final class Member: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("goals") var goals: Int
    @Managed("club") var club: Club?

    static var entity: Entity {
        Entity("Member") {
            Attribute("name", .string, optional: false)
            Attribute("goals", .int, default: .int(0))
            Relationship("club", to: "Club", inverse: "members")
        }
    }
}

/// Typed predicates have the same trees as their texts.
@Suite(.ownThread) struct TypedPredicateTests {
    private let day = Date(timeIntervalSince1970: 86_400)
    private let seven = ObjectID(entity: "Club", number: 7)

    private func tree(_ text: String, _ arguments: [PredicateArgument] = []) throws
        -> ObjectPredicate
    { try ObjectPredicate(format: text, arguments: arguments) }

    private func check(
        _ typed: TypedPredicate<Club>, _ text: String, _ arguments: [PredicateArgument] = [],
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let found = try typed.objectPredicate
        #expect(found == (try tree(text, arguments)), "\(found)", sourceLocation: place)
        _ = try CompiledRequest(
            FetchDescriptor(entity: "Club", predicate: found),
            in: CompiledModel(ManagedObjectModel(Club.self, Member.self)))
    }

    private func check(
        _ typed: Predicate<Club>, _ text: String, _ arguments: [PredicateArgument] = [],
        at place: SourceLocation = #_sourceLocation
    ) throws {
        let found = try ObjectPredicate(typed)
        #expect(found == (try tree(text, arguments)), "\(found)", sourceLocation: place)
        _ = try CompiledRequest(
            FetchDescriptor(entity: "Club", predicate: found),
            in: CompiledModel(ManagedObjectModel(Club.self, Member.self)))
    }

    // MARK: Operators

    @Test func `operators on key paths compare`() throws {
        try check(\.wins == 3, "wins == 3")
        try check(\.wins != 3, "wins != 3")
        try check(\.wins < 3, "wins < 3")
        try check(\.wins <= 3, "wins <= 3")
        try check(\.wins > 3, "wins > 3")
        try check(\.wins >= 3, "wins >= 3")
        try check(\.isOpen == true, "open == TRUE")
        try check(\.rate > 0.5, "rate > 0.5")
        try check(\.founded < day, "founded < %@", [.value(.date(86_400))])
        try check(\.nickname == "a", "nick == 'a'")
        try check(\.nickname == nil, "nick == nil")
        try check(\.rank == 4, "rank == 4")
        try check(\.site != nil, "site != nil")
        try check(\.code == nil, "code == nil")
    }

    @Test func `the names of a followed key path are cached, those of an invalid one are not`()
        throws
    {
        for _ in 0..<2 {
            try check(\.rival?.wins == 1, "rival.wins == 1")
            #expect(KeyPathCache[\Club.rival?.wins] == .init(names: ["rival", "wins"]))
            #expect(throws: TandemError.self) { try (\Club.doubled == 4).objectPredicate }
            #expect(KeyPathCache[\Club.doubled] == nil)
        }
    }

    @Test func `operators on key paths follow relationships`() throws {
        try check(\.rival?.name == "a", "rival.name == 'a'")
        try check(\.rival?.rival?.wins == 2, "rival.rival.wins == 2")
        try check(\.rival?.nickname == nil, "rival.nick == nil")
        try check(\.rival == nil, "rival == nil")
        try check(\.id == seven, "SELF == %@", [.object(seven)])
        try check(\.rival?.id == seven, "rival == %@", [.object(seven)])
    }

    @Test func `operators on key paths combine`() throws {
        try check(
            \.wins > 3 && \.name == "a" || !(\.isOpen == true),
            "(wins > 3 AND name == 'a') OR NOT open == TRUE")
        try check(["a", "b"] ~= \.name, "name IN {'a', 'b'}")
        try check(1...4 ~= \.wins, "wins BETWEEN {1, 4}")
        try check(1..<4 ~= \.wins, "wins >= 1 AND wins < 4")
        try check((\Club.name).beginsWith("a", .caseInsensitive), "name BEGINSWITH[c] 'a'")
        try check((\Club.name).contains("a"), "name CONTAINS 'a'")
        try check((\Club.nickname).endsWith("a"), "nick ENDSWITH 'a'")
        try check((\Club.rival?.name).isLike("a*"), "rival.name LIKE 'a*'")
        try check(
            (\Club.name).equals("a", [.caseInsensitive, .diacriticInsensitive]), "name ==[cd] 'a'")
    }

    @Test func `operators on key paths support conditions over members`() throws {
        try check((\Club.members).any(\.goals > 2), "ANY members.goals > 2")
        try check((\Club.members).all(["a"] ~= \.name), "ALL members.name IN {'a'}")
        try check((\Club.members).none(\.goals > 2), "NOT ANY members.goals > 2")
        try check((\Club.rivals).any(\.rival?.wins == 1), "ANY rivals.rival.wins == 1")
        try check(
            (\Club.members).any(\.goals > 2 && \.name == "a"),
            "SUBQUERY(members, $x, $x.goals > 2 AND $x.name == 'a').@count > 0")
        try check(
            (\Club.members).all(\.goals > 2 || \.name == "a"),
            "SUBQUERY(members, $x, NOT ($x.goals > 2 OR $x.name == 'a')).@count == 0")
        try check(
            (\Club.rivals).any((\Club.members).any(\.goals > 2 && \.name == "a") && \.wins > 1),
            "SUBQUERY(rivals, $x, SUBQUERY($x.members, $xx, $xx.goals > 2 AND $xx.name == 'a')"
                + ".@count > 0 AND $x.wins > 1).@count > 0")
    }

    @Test func `a key path that names no property is refused`() {
        func refused(_ typed: TypedPredicate<Club>, at place: SourceLocation = #_sourceLocation) {
            #expect(sourceLocation: place) {
                try typed.objectPredicate
            } throws: {
                let error = $0 as? TandemError
                return error?.code == .usage && error?.message.contains("Club") == true
            }
        }
        refused(\.doubled == 2)
        refused(\.isClosed == true)
        refused(\.both == "ab")
        refused(\.name.count == 2)
        refused(\.members.count == 2)
        refused(\.rival?.doubled == 2)
        refused(\.entityName == "Club")
        refused(\.wins == 1 && \.doubled == 2)
        #expect(throws: Never.self) { try (\Club.sameWins == 2).objectPredicate }
    }

    // MARK: #Predicate

    @Test func `Swift's predicates compare`() throws {
        let (day, seven, names) = (day, seven, ["a", "b"])
        try check(#Predicate { $0.wins == 3 }, "wins == 3")
        try check(#Predicate { $0.wins != 3 }, "wins != 3")
        try check(#Predicate { $0.wins < 3 }, "wins < 3")
        try check(#Predicate { $0.wins <= 3 }, "wins <= 3")
        try check(#Predicate { $0.wins > 3 }, "wins > 3")
        try check(#Predicate { $0.wins >= 3 }, "wins >= 3")
        try check(#Predicate { 3 < $0.wins }, "3 < wins")
        try check(#Predicate { $0.isOpen }, "open == TRUE")
        try check(#Predicate { !$0.isOpen }, "NOT open == TRUE")
        try check(#Predicate { $0.founded < day }, "founded < %@", [.value(.date(86_400))])
        try check(#Predicate { $0.nickname == nil }, "nick == nil")
        try check(#Predicate { $0.nickname == "a" }, "nick == 'a'")
        try check(#Predicate { $0.id == seven }, "SELF == %@", [.object(seven)])
        try check(
            #Predicate { $0.wins > 3 && $0.name == "a" || $0.rate > 0.5 },
            "(wins > 3 AND name == 'a') OR rate > 0.5")
        try check(#Predicate { names.contains($0.name) }, "name IN {'a', 'b'}")
        try check(#Predicate { (1...4).contains($0.wins) }, "wins BETWEEN {1, 4}")
        try check(#Predicate { (1..<4).contains($0.wins) }, "wins >= 1 AND wins < 4")
        try check(#Predicate { _ in true }, "TRUEPREDICATE")
        try check(
            #Predicate { $0.isOpen ? $0.wins > 1 : $0.wins > 2 },
            "(open == TRUE AND wins > 1) OR (NOT open == TRUE AND wins > 2)")
    }

    @Test func `Swift's predicates support arithmetic and string conditions`() throws {
        try check(#Predicate { $0.wins + 1 > 3 }, "wins + 1 > 3")
        try check(#Predicate { $0.wins * 2 - 1 > 3 }, "(wins * 2) - 1 > 3")
        try check(#Predicate { $0.wins / 2 == 1 }, "wins / 2 == 1")
        try check(#Predicate { $0.rate / 2 == 1 }, "rate / 2.0 == 1.0")
        try check(#Predicate { -$0.wins < 3 }, "-wins < 3")
        try check(#Predicate { $0.name.contains("a") }, "name CONTAINS 'a'")
        try check(#Predicate { $0.name.starts(with: "a") }, "name BEGINSWITH 'a'")
        try check(#Predicate { $0.name.isEmpty }, "name == ''")
    }

    @Test func `Swift's predicates follow relationships and optionals`() throws {
        try check(#Predicate { $0.rival?.name == "a" }, "rival.name == 'a'")
        try check(#Predicate { $0.rival?.rival?.wins == 2 }, "rival.rival.wins == 2")
        try check(#Predicate { $0.rival!.wins > 2 }, "rival.wins > 2")
        try check(
            #Predicate { ($0.rank ?? 5) > 3 },
            "(rank != nil AND rank > 3) OR (rank == nil AND 5 > 3)")
        try check(
            #Predicate { $0.rival?.name.contains("a") ?? false },
            "rival != nil AND rival.name CONTAINS 'a'")
        try check(
            #Predicate { $0.nickname?.contains("a") == true }, "nick != nil AND nick CONTAINS 'a'")
        try check(
            #Predicate { $0.nickname?.contains("a") != true },
            "NOT (nick != nil AND nick CONTAINS 'a')")
        try check(
            #Predicate { $0.rival?.nickname?.contains("a") == false },
            "rival.nick != nil AND NOT rival.nick CONTAINS 'a'")
        try check(
            #Predicate { $0.rival?.members.count == 0 },
            "rival != nil AND rival.members.@count == 0")
        try check(
            #Predicate { ($0.rival?.members.count ?? 7) > 3 },
            "(rival != nil AND rival.members.@count > 3) OR (rival == nil AND 7 > 3)")
        try check(
            #Predicate { if let rival = $0.rival { rival.wins > 2 } else { true } },
            "(rival != nil AND rival.wins > 2) OR (rival == nil AND TRUEPREDICATE)")
    }

    @Test func `Swift's predicates support conditions over members`() throws {
        try check(#Predicate { $0.members.contains { $0.goals > 2 } }, "ANY members.goals > 2")
        try check(#Predicate { $0.members.allSatisfy { $0.goals > 2 } }, "ALL members.goals > 2")
        try check(#Predicate { $0.members.count > 2 }, "members.@count > 2")
        try check(#Predicate { $0.members.isEmpty }, "members.@count == 0")
        try check(
            #Predicate { $0.members.filter { $0.goals > 2 }.count == 1 },
            "SUBQUERY(members, $x1, $x1.goals > 2).@count == 1")
        try check(
            #Predicate { club in club.members.contains { $0.goals > club.wins } },
            "SUBQUERY(members, $x1, $x1.goals > wins).@count > 0")
        try check(
            #Predicate { $0.rivals.contains { $0.members.contains { $0.goals > 2 } } },
            "SUBQUERY(rivals, $x1, ANY $x1.members.goals > 2).@count > 0")
    }

    @Test func `expressions without a translation are refused by name`() {
        func refused(
            _ predicate: Predicate<Club>, _ name: String,
            at place: SourceLocation = #_sourceLocation
        ) {
            #expect(sourceLocation: place) {
                try ObjectPredicate(predicate)
            } throws: {
                let error = $0 as? TandemError
                return error?.message.contains(name) == true
            }
        }
        refused(#Predicate { $0.wins % 2 == 0 }, "`a % b` in a #Predicate")
        refused(#Predicate { $0.name.count > 2 }, "`count` in a #Predicate")
        refused(#Predicate { $0.doubled > 2 }, "Club")
        refused(
            #Predicate { ($0.isOpen ? $0.nickname?.contains("a") : $0.rival?.isOpen) == false },
            "`a ? b : c` in a #Predicate")
        refused(#Predicate { $0.members.contains { $0.goals % 2 == 1 } }, "`a % b` in a #Predicate")
    }
}

/// Typed predicates fetch the same objects as their texts.
@MainActor @Suite struct TypedFetchTests {
    /// Returns a context with clubs that have 0 to 5 wins; each club except the last has a member
    /// with twice as many goals.
    private func filled() throws -> ManagedObjectContext {
        let container = try PersistentContainer.inMemory(entities: [Club.self, Member.self])
        let context = container.makeContext(name: "test")
        for number in 0..<6 {
            let club = try context.insert(Club.self)
            club.name = "club \(number)"
            club.wins = number
            let member = try context.insert(Member.self)
            member.name = "m"
            member.goals = number * 2
            member.club = number == 5 ? nil : club
        }
        try context.save()
        return context
    }

    private let swift = #Predicate<Club> { $0.wins > 2 }

    @Test func `typed fetches find the same objects as their texts`() throws {
        let context = try filled()
        let text = try context.fetch(Club.self, where: .text("wins > 2"), sort: ["-wins"])
        #expect(text.map(\.name) == ["club 5", "club 4", "club 3"])
        #expect(try context.fetch(Club.self, where: \.wins > 2, sort: ["-wins"]) == text)
        #expect(try context.fetch(Club.self, where: swift, sort: ["-wins"]) == text)
        let found = try context.fetch(
            Club.self, where: (\Club.members).any(\.goals > 7), sort: ["name"])
        #expect(found.map(\.name) == ["club 4"])
        let four = try #require(found.first)
        let members = try context.fetch(Member.self, where: \.club == four)
        #expect(members.map(\.goals) == [8])
        let id = four.id
        let byID = #Predicate<Member> { $0.club?.id == id }
        #expect(try context.fetch(Member.self, where: byID) == members)
    }

    private struct ClubRow: ObjectValue, Equatable {
        let name: String
        init(_ club: RowReader<Club>) { name = club.name }
    }

    @Test func `typed values equal those of their texts`() throws {
        let context = try filled()
        let text = try context.fetchValues(
            ClubRow.self, for: FetchRequest(where: .text("wins > 2"), sort: ["-wins"]))
        #expect(text.map(\.name) == ["club 5", "club 4", "club 3"])
        #expect(
            try context.fetchValues(
                ClubRow.self, for: FetchRequest(where: \.wins > 2, sort: ["-wins"])) == text)
        #expect(
            try context.fetchValues(ClubRow.self, for: FetchRequest(where: swift, sort: ["-wins"]))
                == text)
        let first = try context.fetchValues(
            ClubRow.self, for: FetchRequest(where: \.wins > 2, sort: ["-wins"], limit: 1))
        #expect(first == [text[0]])
        let request = FetchRequest(Club.self, where: \.wins > 2, sort: ["-wins"], offset: 1)
        #expect(try context.fetchValues(ClubRow.self, for: request) == Array(text[1...]))
        #expect(throws: TandemError.self) {
            try context.fetchValues(ClubRow.self, for: FetchRequest(where: \.doubled > 2))
        }
    }

    @Test func `typed values can be awaited`() async throws {
        let context = try filled()
        let text = try await context.fetchValues(
            ClubRow.self, for: FetchRequest(where: .text("wins > 2"), sort: ["-wins"]))
        let typed = try await context.fetchValues(
            ClubRow.self, for: FetchRequest(where: \.wins > 2, sort: ["-wins"]))
        let other = try await context.fetchValues(
            ClubRow.self, for: FetchRequest(where: swift, sort: ["-wins"]))
        #expect(text.count == 3 && typed == text && other == text)
    }

    @Test func `typed batches equal those of their texts`() async throws {
        let context = try filled()
        let all = [
            context.batches(
                for: FetchRequest(Club.self, where: .text("wins > 2"), sort: ["-wins"]), size: 2),
            context.batches(
                for: FetchRequest(Club.self, where: \.wins > 2, sort: ["-wins"]), size: 2),
            context.batches(for: FetchRequest(Club.self, where: swift, sort: ["-wins"]), size: 2),
        ]
        for batches in all {
            var names: [[String]] = []
            for try await clubs in batches { names.append(clubs.map(\.name)) }
            #expect(names == [["club 5", "club 4"], ["club 3"]])
        }
        await #expect(throws: TandemError.self) {
            let computed = context.batches(for: FetchRequest(Club.self, where: \.doubled > 2))
            for try await _ in computed { Issue.record("a batch") }
        }
    }

    @Test func `typed fetches can be awaited`() async throws {
        let context = try filled()
        let text = try await context.fetch(Club.self, where: .text("wins > 2"), sort: ["-wins"])
        let typed = try await context.fetch(Club.self, where: \.wins > 2, sort: ["-wins"])
        let other = try await context.fetch(Club.self, where: swift, sort: ["-wins"])
        #expect(typed == text)
        #expect(other == text)
    }
}

import TandemModel
import TandemQuery

extension FuzzTarget {
    /// The parser of predicates, with and without arguments.
    ///
    /// The first byte selects the arguments, the rest is the text.
    static let predicates = FuzzTarget("predicates", seeds: predicateSeeds) { input in
        var input = FuzzInput(input)
        let choice = input.choice(arguments.count)
        guard let text = String(validating: input.rest(), as: UTF8.self) else { return }
        let predicate: ObjectPredicate
        do throws(TandemError) {
            predicate = try ObjectPredicate(format: text, arguments: arguments[choice])
        } catch {
            try hold(!error.message.isEmpty, "an error without a message")
            let offset = error.offset ?? 0
            try hold(offset >= 0 && offset <= text.utf8.count, "an error at offset \(offset)")
            return
        }
        try PredicateProperties.checkText(predicate)
        try PredicateProperties.check(FetchDescriptor(entity: "Team", predicate: predicate))
    }

    /// Fetch requests in their binary form.
    static let requests = FuzzTarget("requests", seeds: requestSeeds) { input in
        var reader = ByteReader(input)
        guard let request = try? FetchDescriptor(from: &reader) else { return }
        _ = request.predicate?.description
        try PredicateProperties.check(request)
    }

    private static let arguments: [[PredicateArgument]] = [
        [], [.value(.int(3))], [.value(.string("Ghana"))],
        [.object(ObjectID(entity: "League", number: 1))], [.keyPath("league.name")],
        [.list([.value(.int(1)), .value(.double(2.5)), .value(.null)])],
        [.keyPath("wins"), .value(.double(-0.0))], [.value(.date(1e9)), .value(.bool(true))],
    ]

    private static let predicateTexts = [
        "wins > 2", "name ==[cd] 'GHANA' AND wins BETWEEN {1, 5}",
        "NOT (active = YES) OR rate < -0.5",
        "ANY players.goals >= 3", "ALL tags.name IN {'hot', \"cold\"}", "NONE players.name = nil",
        "SUBQUERY(players, $p, $p.goals > 1 AND $p.team = SELF).@count > 0",
        "players.@sum.goals + wins * 2 = 3",
        "name LIKE[c] 'g*a?a' && site BEGINSWITH 'https'", "SELF = CAST('Team/2', 'Object')",
        "founded < CAST(12.5, 'NSDate') AND price = CAST('12.50', 'NSDecimalNumber')",
        "league.name CONTAINS 'ü' OR league = nil", "TRUEPREDICATE",
        "FALSEPREDICATE AND !(wins = 1)",
        "code = CAST('01020304-0506-0708-0900-010203040506', 'NSUUID')",
        "wins IN {1, 2, NULL} OR wins != 4",
        "#select.name = 'x'",
        "players.@avg.goals > 1.5e3 AND players.@min.goals < -9223372036854775808",
        "name ENDSWITH 'a' AND blob = CAST('AP8B', 'NSData')", "(wins + 1) * -2 / 3 - 4 >= rank",
        "players.@count = 2 AND tags.@count == 1", "wins = 0x10 OR rate = .5",
    ]

    private static let withArguments: [(UInt8, String)] = [
        (1, "wins = %d"), (2, "name = %@"), (3, "league = %@"), (4, "%K = 'Süd'"),
        (5, "wins IN %@"),
        (6, "%K > %f"), (7, "founded > %@ AND active = %@"), (5, "wins BETWEEN %@"),
    ]

    @Sendable private static func predicateSeeds() -> [[UInt8]] {
        let plain = predicateTexts.map { (UInt8(0), $0) }
        return (plain + withArguments).map { choice, text in [choice] + Array(text.utf8) }
    }

    @Sendable private static func requestSeeds() -> [[UInt8]] {
        predicateTexts.enumerated().compactMap { index, text -> [UInt8]? in
            guard let predicate = try? ObjectPredicate(format: text) else { return nil }
            let request = FetchDescriptor(
                entity: "Team", predicate: predicate,
                sort: [
                    SortComponent("league.name"), SortComponent("wins", ascending: index % 2 == 0),
                ],
                limit: index % 3 == 0 ? index : nil, offset: index, includesSubentities: true)
            var writer = ByteWriter()
            request.encode(into: &writer)
            return writer.bytes
        }
    }
}

import FoundationEssentials
import TandemModel
import TandemQuery
import TestSupport
import Testing

struct ParserTests {
    private func parse(_ text: String, _ arguments: PredicateArgument...) throws -> PredicateTree {
        try PredicateTree(format: text, arguments: arguments)
    }

    private func comparison(
        _ path: String, _ op: Comparison.Operator, _ value: PropertyValue
    ) -> PredicateTree {
        .comparison(Comparison(.keyPath([path]), op, .constant(value)))
    }

    @Test func `keywords are case-insensitive`() throws {
        #expect(
            try parse("a == 1 and not b == 2 Or c == nil")
                == parse("a = 1 AND NOT b = 2 OR c = NULL"))
    }

    @Test func `AND binds tighter than OR`() throws {
        let a = comparison("a", .equal, .int(1))
        let b = comparison("b", .equal, .int(2))
        let c = comparison("c", .equal, .int(3))
        #expect(try parse("a == 1 || b == 2 && c == 3") == .or([a, .and([b, c])]))
        #expect(try parse("(a == 1 || b == 2) && c == 3") == .and([.or([a, b]), c]))
    }

    @Test(arguments: [
        ("=", Comparison.Operator.equal), ("==", .equal), ("!=", .notEqual), ("<>", .notEqual),
        ("<", .less), ("<=", .lessOrEqual), ("=<", .lessOrEqual), (">", .greater),
        (">=", .greaterOrEqual), ("=>", .greaterOrEqual), ("beginswith", .beginsWith),
        ("CONTAINS", .contains), ("EndsWith", .endsWith), ("LIKE", .like), ("IN", .in),
        ("BETWEEN", .between),
    ])
    func `operators are parsed`(_ text: String, _ op: Comparison.Operator) throws {
        #expect(try parse("a \(text) 1") == comparison("a", op, .int(1)))
    }

    @Test(arguments: [
        ("1", PropertyValue.int(1)), ("-1", .int(-1)), ("1.5", .double(1.5)),
        ("2e3", .double(2000)),
        ("-9223372036854775808", .int(.min)), ("TRUE", .bool(true)), ("yes", .bool(true)),
        ("NO", .bool(false)), ("nil", .null), ("NULL", .null), ("'it'", .string("it")),
        (#""a\"b\\c\n\u00e9""#, .string("a\"b\\c\né")), ("'don\\'t'", .string("don't")),
        ("CAST(1.5, \"NSDate\")", .date(1.5)), ("CAST(\"1.50\", 'decimal')", .decimal(1.5)),
        (#"'50%%\*'"#, .string(#"50%%\*"#)),
    ])
    func literalIsRead(_ text: String, _ value: PropertyValue) throws {
        #expect(try parse("a == \(text)") == comparison("a", .equal, value))
    }

    @Test func `arguments are used in order`() throws {
        let parsed = try parse(
            "%K == %@ AND b > %d AND c < %f AND %@ IN d", .keyPath("a.x"), .value(.string("s")),
            .value(.int(3)), .value(.double(0.5)), .object(ObjectID(entity: "Team", number: 7)))
        #expect(
            parsed.format
                == "a.x == \"s\" AND b > 3 AND c < 0.5 AND CAST(\"Team/7\", \"Object\") IN d")
    }

    @Test func `a list argument is a list`() throws {
        let parsed = try parse("a IN %@", .list([.value(.int(1)), .value(.int(2))]))
        #expect(try parsed == parse("a IN {1, 2}"))
    }

    @Test func `aggregates and subqueries are parsed`() throws {
        let count = QueryExpression.aggregate(.count, of: .keyPath(["a", "tags"]), path: [])
        #expect(
            try parse("a.tags.@count > 0")
                == .comparison(Comparison(count, .greater, .constant(.int(0)))))
        let inner = PredicateTree.comparison(
            Comparison(.variable("t", path: ["name"]), .equal, .constant(.string("x"))))
        let query = QueryExpression.subquery(of: .keyPath(["tags"]), variable: "t", where: inner)
        #expect(
            try parse("SUBQUERY(tags, $t, $t.name = \"x\").@count > 0")
                == .comparison(
                    Comparison(
                        .aggregate(.count, of: query, path: []), .greater, .constant(.int(0)))))
    }

    @Test func `parentheses enclose predicates or expressions`() throws {
        #expect(
            try parse("((a + 1)) * 2 > 3 AND ((b == 1))").format == "(a + 1) * 2 > 3 AND b == 1")
    }

    @Test func `options are parsed`() throws {
        guard case .comparison(let one) = try parse("a CONTAINS[cd] 'x'") else {
            Issue.record("no comparison")
            return
        }
        #expect(one.options == [.caseInsensitive, .diacriticInsensitive])
    }

    @Test func `reserved words can be names of properties with a sign`() throws {
        #expect(try parse("#in == 1") == comparison("in", .equal, .int(1)))
        #expect(try parse("#in == 1").format == "#in == 1")
    }

    // MARK: Errors

    @Test(arguments: [
        ("", 0), ("a", 1), ("a ==", 4), ("a == 1 b", 7), ("a == 'x", 5), ("(a == 1", 7),
        ("a == 1)", 6), ("a ~ 1", 2), ("a MATCHES 'x'", 2), ("a ==[x] 1", 5), ("ANY a", 5),
        ("a.@foo > 1", 2), ("a.@sum > 1", 7), ("a == 1 AND", 10), ("a IN {1, ", 9), ("$ == 1", 1),
        ("SUBQUERY(a, b, TRUEPREDICATE).@count > 0", 12), ("a == CAST(1, \"NSFoo\")", 10),
        ("a == 1e999", 5), ("a == \"\\u12\"", 6), ("NOT a", 5), ("AND a == 1", 0),
        ("a == (b == 1)", 5),
    ])
    func errorNamesItsOffset(_ text: String, _ offset: Int) {
        let error = parseError(text)
        #expect(error?.code == .invalidPredicate)
        #expect(error?.offset == offset, "\(error?.message ?? "none")")
        #expect(error?.message.contains("expected") == true)
    }

    @Test func `too few arguments are an error`() {
        #expect(parseError("a == %@")?.offset == 5)
    }

    @Test func `too many arguments are an error`() {
        #expect(parseError("a == 1", [.value(.int(1))])?.offset == 6)
    }

    @Test func `arguments of the wrong kind are an error`() {
        #expect(parseError("a == %d", [.value(.string("x"))])?.offset == 5)
        #expect(parseError("%K == 1", [.value(.int(1))])?.offset == 0)
        #expect(parseError("%K == 1", [.keyPath("a..b")])?.offset == 0)
    }

    @Test(arguments: ["(", "NOT ", "{", "-", "SUBQUERY(a, $x, "])
    func deepNestingIsLimited(_ opening: String) {
        let text = String(repeating: opening, count: 20_000)
        #expect(
            parseError("a == " + text)?.code == .limitExceeded
                || parseError(text)?.code == .limitExceeded)
    }

    @Test func `the length of sums is limited`() {
        let text = "a == 1" + String(repeating: " + 1", count: 5_000)
        #expect(parseError(text)?.code == .limitExceeded)
    }

    @Test func `the length of lists is limited`() {
        let list = PredicateArgument.list((0..<20_000).map { .value(.int($0)) })
        #expect(parseError("a IN %@", [list])?.code == .limitExceeded)
        #expect(
            parseError("a IN %@", [.list(Array(repeating: .value(.null), count: 9_000))]) == nil)
    }

    @Test func `any text is parsed or throws`() {
        let seed = seed
        var random = SplitMix64(seed: seed)
        let words = [
            "a", "==", "(", ")", "{", "}", "AND", "NOT", "ANY", "'x'", "%@", "1", ".", "@count",
            "$x", ",",
            "SUBQUERY", "CAST", "[c]", "-", "+", "IN", "BETWEEN", "\\", "\"", "é", "#", "SELF",
            "NULL",
        ]
        for _ in 0..<3_000 {
            let count = Int.random(in: 0...12, using: &random)
            let text = (0..<count).map { _ in words.randomElement(using: &random) ?? "" }
                .joined(separator: Bool.random(using: &random) ? " " : "")
            if let offset = parseError(text)?.offset {
                #expect((0...text.utf8.count).contains(offset), "seed \(seed): \(text)")
            }
        }
    }
}

import FoundationEssentials
import TandemModel
import TandemQuery
import TestSupport

/// A generator of predicates of any shape that a parser can return.
struct RandomPredicate {
    var random: SplitMix64

    mutating func predicate(_ depth: Int = 4) -> PredicateTree {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 3), using: &random) {
        case 0: return .constant(Bool.random(using: &random))
        case 1, 2: return .comparison(comparison(depth - 1))
        case 3: return .not(predicate(depth - 1))
        case 4: return .and(parts(depth))
        default: return .or(parts(depth))
        }
    }

    private mutating func parts(_ depth: Int) -> [PredicateTree] {
        var parts: [PredicateTree] = []
        for _ in 0..<Int.random(in: 2...4, using: &random) { parts.append(predicate(depth - 1)) }
        return parts
    }

    private mutating func comparison(_ depth: Int) -> Comparison {
        Comparison(
            expression(depth), Comparison.Operator.allCases.randomElement(using: &random) ?? .equal,
            expression(depth),
            options: ComparisonOptions(rawValue: UInt8.random(in: 0...3, using: &random)),
            quantifier: Comparison.Quantifier.allCases.randomElement(using: &random) ?? .direct)
    }

    private mutating func expression(_ depth: Int) -> QueryExpression {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &random) {
        case 0, 1: return .constant(value())
        case 2: return .keyPath(names())
        case 3: return .selfObject
        case 4: return .variable("x", path: Bool.random(using: &random) ? names() : [])
        case 5: return .object(ObjectID(entity: "Team", number: random.next() % 100))
        case 6: return .list([expression(depth - 1), expression(depth - 1)])
        case 7: return .aggregate(.sum, of: .keyPath(names()), path: names())
        case 8:
            let query = QueryExpression.subquery(
                of: .keyPath(names()), variable: "x", where: predicate(depth - 1))
            return .aggregate(.count, of: query, path: [])
        default:
            return .arithmetic(
                Arithmetic.allCases.randomElement(using: &random) ?? .add, expression(depth - 1),
                expression(depth - 1))
        }
    }

    private mutating func names() -> [String] {
        let all = ["name", "in", "tags", "größe", "_x1", "any"]
        return (0..<Int.random(in: 1...3, using: &random)).map { _ in
            all.randomElement(using: &random) ?? "name"
        }
    }

    private mutating func value() -> PropertyValue {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: .null
        case 1: .bool(Bool.random(using: &random))
        case 2: .int(Int64(bitPattern: random.next()))
        case 3: .double(Double(bitPattern: random.next() & 0xbfff_ffff_ffff_ffff))
        case 4: .decimal(Decimal(Int64(bitPattern: random.next())) / 1000)
        case 5: .string(["", "a\"b", "c\\d\n", "é%@", "$x {"].randomElement(using: &random) ?? "")
        case 6: .date(Double(random.next() % 1_000_000) / 8)
        case 7: .data([1, 2, UInt8(truncatingIfNeeded: random.next())])
        case 8: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
        default: .url("https://example.org/\(random.next() % 10)")
        }
    }
}

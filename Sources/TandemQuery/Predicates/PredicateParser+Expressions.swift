import FoundationEssentials
import TandemModel

extension PredicateParser {
    mutating func expression() throws(TandemError) -> QueryExpression {
        let start = token.offset
        guard case .expression(let expression) = try sum() else {
            throw PredicateLexer.error(start, "expected a value or key path, found a predicate")
        }
        return expression
    }

    // MARK: Arithmetic

    mutating func sum() throws(TandemError) -> Item {
        var left = try product()
        while case .expression(let first) = left, let op = arithmetic(["+", "-"]) {
            try advance()
            guard case .expression(let second) = try product() else { throw expected("a number") }
            left = .expression(.arithmetic(op, first, second))
        }
        return left
    }

    private mutating func product() throws(TandemError) -> Item {
        var left = try factor()
        while case .expression(let first) = left, let op = arithmetic(["*", "/"]) {
            try advance()
            guard case .expression(let second) = try factor() else { throw expected("a number") }
            left = .expression(.arithmetic(op, first, second))
        }
        return left
    }

    private func arithmetic(_ signs: [String]) -> Arithmetic? {
        guard case .sign(let sign) = token.kind, signs.contains(sign) else { return nil }
        return Arithmetic(rawValue: sign)
    }

    private mutating func factor() throws(TandemError) -> Item {
        guard token.kind == .sign("-") else { return try primary() }
        try advance()
        if case .number(let digits) = token.kind { return try number("-" + digits) }
        return try nested { (parser) throws(TandemError) in
            guard case .expression(let operand) = try parser.factor() else {
                throw parser.expected("a number")
            }
            return .expression(.arithmetic(.subtract, .constant(.int(0)), operand))
        }
    }

    // MARK: Primaries

    private mutating func primary() throws(TandemError) -> Item {
        switch token.kind {
        case .sign("("):
            return try nested { (parser) throws(TandemError) in
                try parser.advance()
                let item = try parser.or()
                try parser.skip(")")
                return item
            }
        case .sign("{"): return try nested { (parser) throws(TandemError) in try parser.list() }
        case .number(let digits): return try number(digits)
        case .text(let text):
            try advance()
            return .expression(.constant(.string(text)))
        case .argument(let letter): return .expression(try argument(letter))
        case .variable(let name):
            try advance()
            return .expression(try path(from: .variable(name, path: [])))
        case .name(let name):
            try advance()
            return .expression(try path(from: .keyPath([name])))
        case .aggregate(let name):
            let root = try aggregate(name, .keyPath([]))
            try advance()
            return .expression(try path(from: root))
        case .word(let word): return try self.word(word)
        default: throw expected("a value or key path")
        }
    }

    private mutating func word(_ word: String) throws(TandemError) -> Item {
        let keyword = token.keyword ?? ""
        switch keyword {
        case "NULL", "NIL": return try constant(.null)
        case "TRUE", "YES": return try constant(.bool(true))
        case "FALSE", "NO": return try constant(.bool(false))
        case "TRUEPREDICATE", "FALSEPREDICATE":
            try advance()
            return .predicate(.constant(keyword == "TRUEPREDICATE"))
        case "SUBQUERY":
            return try nested { (parser) throws(TandemError) in
                .expression(try parser.subquery())
            }
        case "CAST":
            return try nested { (parser) throws(TandemError) in .expression(try parser.cast()) }
        case "SELF":
            try advance()
            return .expression(try path(from: .selfObject))
        default:
            guard !PredicateWords.reserved.contains(keyword) else {
                throw expected("a value or key path (write `#\(word)` for a property)")
            }
            try advance()
            return .expression(try path(from: .keyPath([word])))
        }
    }

    private mutating func constant(_ value: PropertyValue) throws(TandemError) -> Item {
        try advance()
        return .expression(.constant(value))
    }

    private mutating func number(_ digits: String) throws(TandemError) -> Item {
        if let int = Int64(digits) { return try constant(.int(int)) }
        guard let double = Double(digits), double.isFinite else {
            throw error("expected a number of at most 64 bits")
        }
        return try constant(.double(double))
    }

    private mutating func list() throws(TandemError) -> Item {
        try advance()
        var elements: [QueryExpression] = []
        while token.kind != .sign("}") {
            elements.append(try expression())
            guard token.kind == .sign(",") else { break }
            try advance()
        }
        try skip("}")
        return .expression(.list(elements))
    }

    private mutating func subquery() throws(TandemError) -> QueryExpression {
        try advance()
        try skip("(")
        let collection = try expression()
        try skip(",")
        guard case .variable(let name) = token.kind else { throw expected("a variable, `$x`") }
        try advance()
        try skip(",")
        let predicate = try predicate()
        try skip(")")
        return try path(from: .subquery(of: collection, variable: name, where: predicate))
    }

    private mutating func cast() throws(TandemError) -> QueryExpression {
        try advance()
        try skip("(")
        let start = token.offset
        guard case .constant(let value) = try expression() else {
            throw PredicateLexer.error(start, "expected a value in CAST")
        }
        try skip(",")
        guard case .text(let type) = token.kind else { throw expected("a type's name in quotes") }
        guard let result = PredicateCast.expression(value, type) else {
            throw PredicateLexer.error(start, "expected a value that can be converted to \(type)")
        }
        try advance()
        try skip(")")
        return result
    }
}

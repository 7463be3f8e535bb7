package import TandemModel

extension PredicateTree {
    /// Parses a predicate's text; see ``ObjectPredicate/init(format:arguments:)``.
    package init(
        format: String, arguments: [PredicateArgument] = []
    ) throws(TandemError) {
        var parser = try PredicateParser(format, arguments)
        self = try parser.parse()
        try PredicateLimits.check(self)
    }
}

/// A recursive-descent parser with the levels `OR`, `AND`, `NOT`, comparison, `+ -`, `* /` and
/// primary.
///
/// Parentheses can contain a predicate or an expression; which of the two is known only at the
/// closing parenthesis. Every level therefore returns an ``Item``, and the level above checks its
/// kind, so nothing is parsed twice.
struct PredicateParser {
    enum Item {
        case predicate(PredicateTree)
        case expression(QueryExpression)
    }

    private var lexer: PredicateLexer
    var token: PredicateToken
    private var depth = 0
    let arguments: [PredicateArgument]
    var argumentsUsed = 0

    init(_ text: String, _ arguments: [PredicateArgument]) throws(TandemError) {
        lexer = PredicateLexer(text)
        self.arguments = arguments
        token = try lexer.next()
    }

    mutating func parse() throws(TandemError) -> PredicateTree {
        let predicate = try predicate()
        guard token.kind == .end else { throw expected("AND, OR or the end") }
        guard argumentsUsed == arguments.count else {
            throw error(
                "the number of arguments is \(arguments.count), but the format uses \(argumentsUsed)"
            )
        }
        return predicate
    }

    // MARK: Predicates

    mutating func predicate() throws(TandemError) -> PredicateTree {
        try asPredicate(try or())
    }

    mutating func or() throws(TandemError) -> Item {
        let first = try and()
        guard isNext("OR", "||") else { return first }
        var parts = [try asPredicate(first)]
        while isNext("OR", "||") {
            try advance()
            parts.append(try asPredicate(try and()))
        }
        return .predicate(.or(parts))
    }

    private mutating func and() throws(TandemError) -> Item {
        let first = try not()
        guard isNext("AND", "&&") else { return first }
        var parts = [try asPredicate(first)]
        while isNext("AND", "&&") {
            try advance()
            parts.append(try asPredicate(try not()))
        }
        return .predicate(.and(parts))
    }

    private mutating func not() throws(TandemError) -> Item {
        guard isNext("NOT", "!") else { return try comparison() }
        try enter()
        defer { depth -= 1 }
        try advance()
        return .predicate(.not(try asPredicate(try not())))
    }

    private mutating func comparison() throws(TandemError) -> Item {
        let quantifier = PredicateParser.quantifiers[token.keyword ?? ""]
        if quantifier != nil { try advance() }
        let first = token.offset
        let left = try sum()
        if case .predicate = left, quantifier != nil {
            throw PredicateLexer.error(first, "expected a key path after ANY, ALL or NONE")
        }
        guard case .expression(let left) = left, let op = comparisonOperator() else {
            if quantifier == nil { return left }
            throw expected("an operator such as ==")
        }
        try advance()
        let options = try options()
        let right = try expression()
        return .predicate(
            .comparison(
                Comparison(left, op, right, options: options, quantifier: quantifier ?? .direct)))
    }

    private static let quantifiers: [String: Comparison.Quantifier] = [
        "ANY": .any, "SOME": .any, "ALL": .all, "NONE": .none,
    ]

    // MARK: Operators

    private static let signs: [String: Comparison.Operator] = [
        "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .less,
        "<=": .lessOrEqual, "=<": .lessOrEqual, ">": .greater, ">=": .greaterOrEqual,
        "=>": .greaterOrEqual,
    ]

    private static let words: [String: Comparison.Operator] = [
        "BETWEEN": .between, "IN": .in, "BEGINSWITH": .beginsWith, "CONTAINS": .contains,
        "ENDSWITH": .endsWith, "LIKE": .like,
    ]

    private func comparisonOperator() -> Comparison.Operator? {
        if case .sign(let sign) = token.kind { return PredicateParser.signs[sign] }
        return token.keyword.flatMap { PredicateParser.words[$0] }
    }

    /// Reads `[c]`, `[d]` or `[cd]`.
    private mutating func options() throws(TandemError) -> ComparisonOptions {
        guard token.kind == .sign("[") else { return [] }
        try advance()
        guard case .word(let letters) = token.kind else { throw expected("c, d or cd") }
        var options: ComparisonOptions = []
        for letter in letters.utf8 {
            switch letter | 0x20 {
            case UInt8(ascii: "c"): options.insert(.caseInsensitive)
            case UInt8(ascii: "d"): options.insert(.diacriticInsensitive)
            default: throw expected("c, d or cd")
            }
        }
        try advance()
        try skip("]")
        return options
    }

    // MARK: Tokens

    mutating func advance() throws(TandemError) { token = try lexer.next() }

    mutating func skip(_ sign: String) throws(TandemError) {
        guard token.kind == .sign(sign) else { throw expected("`\(sign)`") }
        try advance()
    }

    func isNext(_ keyword: String, _ sign: String) -> Bool {
        token.kind == .sign(sign) || token.keyword == keyword
    }

    /// Increases the nesting depth before a nested part; the caller decreases it afterwards.
    mutating func enter() throws(TandemError) {
        depth += 1
        guard depth <= PredicateTree.maximumDepth else { throw PredicateLimits.tooDeep }
    }

    mutating func nested<Result>(
        _ body: (inout PredicateParser) throws(TandemError) -> Result
    ) throws(TandemError) -> Result {
        try enter()
        defer { depth -= 1 }
        return try body(&self)
    }

    /// Returns the predicate of an item, or throws if the item is an expression.
    ///
    /// The method is mutating so that `or` runs first in `try asPredicate(try or())`; the message
    /// then names the token after the item.
    mutating func asPredicate(_ item: Item) throws(TandemError) -> PredicateTree {
        guard case .predicate(let predicate) = item else {
            throw expected("an operator such as ==")
        }
        return predicate
    }

    func error(_ message: String) -> TandemError { PredicateLexer.error(token.offset, message) }

    func expected(_ what: String) -> TandemError {
        if token.keyword == "MATCHES" {
            return error("MATCHES is not supported; expected LIKE or another operator")
        }
        return error("expected \(what), found \(token.shown)")
    }
}

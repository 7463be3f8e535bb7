import TandemModel

extension PredicateParser {
    /// Parses the rest of a key path: `.name`, `.@count` and so on.
    mutating func path(from root: QueryExpression) throws(TandemError) -> QueryExpression {
        var result = root
        while token.kind == .sign(".") {
            try advance()
            switch token.kind {
            case .word(let name), .name(let name):
                guard let longer = result.appending(name) else {
                    throw expected("an operator such as .@count after SUBQUERY")
                }
                result = longer
            case .aggregate(let name): result = try aggregate(name, result)
            default: throw expected("a property's name after `.`")
            }
            try advance()
        }
        if case .aggregate(let aggregate, _, let path) = result, aggregate != .count, path.isEmpty {
            throw expected("`.` and a property after @\(aggregate.rawValue)")
        }
        return result
    }

    func aggregate(
        _ name: String, _ collection: QueryExpression
    ) throws(TandemError) -> QueryExpression {
        guard let aggregate = Aggregate(rawValue: name) else {
            throw expected("@count, @sum, @min, @max or @avg")
        }
        if case .aggregate = collection { throw expected("the end of the key path") }
        return .aggregate(aggregate, of: collection, path: [])
    }

    // MARK: Arguments

    mutating func argument(_ letter: UInt8) throws(TandemError) -> QueryExpression {
        guard argumentsUsed < arguments.count else {
            throw error(
                "there is no argument for \(token.shown); the number of arguments is \(arguments.count)"
            )
        }
        let argument = arguments[argumentsUsed]
        argumentsUsed += 1
        let result: QueryExpression
        switch (letter, argument) {
        case (UInt8(ascii: "K"), .keyPath(let text)),
            (UInt8(ascii: "K"), .value(.string(let text))):
            result = try keyPath(text)
            try advance()
            return try path(from: result)
        case (UInt8(ascii: "K"), _): throw error("expected a key path as the argument of %K")
        case (UInt8(ascii: "@"), _): result = try expression(argument)
        case (UInt8(ascii: "f"), .value(let value)) where value.isNumber: result = .constant(value)
        case (UInt8(ascii: "f"), _): throw error("expected a number as the argument of %f")
        case (_, .value(.int(let value))): result = .constant(.int(value))
        default: throw error("expected an integer as the argument of \(token.shown)")
        }
        try advance()
        return result
    }

    private mutating func expression(
        _ argument: PredicateArgument
    ) throws(TandemError) -> QueryExpression {
        switch argument {
        case .value(let value): return .constant(value)
        case .object(let id): return .object(id)
        case .keyPath(let text): return try keyPath(text)
        case .list(let list):
            return try nested { (parser) throws(TandemError) in
                var elements: [QueryExpression] = []
                for element in list { elements.append(try parser.expression(element)) }
                return .list(elements)
            }
        }
    }

    /// Returns the expression for a key path given as an argument.
    private func keyPath(_ text: String) throws(TandemError) -> QueryExpression {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var result = QueryExpression.keyPath([])
        for (index, part) in parts.enumerated() {
            if part.utf8.first == UInt8(ascii: "@") {
                result = try aggregate(String(part.dropFirst()), result)
            } else if part == "SELF", index == 0 {
                result = .selfObject
            } else if PredicateParser.isName(part), let longer = result.appending(part) {
                result = longer
            } else {
                throw error("expected a key path as the argument, found `\(text)`")
            }
        }
        return result
    }

    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy(PredicateLexer.isName)
    }
}

extension QueryExpression {
    /// Returns the expression with a property appended to its key path; nil if nothing can be
    /// appended.
    package func appending(_ name: String) -> QueryExpression? {
        switch self {
        case .keyPath(let names): .keyPath(names + [name])
        case .selfObject: .keyPath([name])
        case .variable(let variable, let path): .variable(variable, path: path + [name])
        // The `@count` of a group can be followed by a property, but that of a relationship can't.
        case .aggregate(.count, let collection, _) where collection != .keyPath([]): nil
        case .aggregate(let aggregate, let collection, let path):
            .aggregate(aggregate, of: collection, path: path + [name])
        default: nil
        }
    }
}

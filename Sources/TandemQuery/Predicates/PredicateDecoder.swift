import TandemModel

/// A decoder of predicates that enforces the limits of depth and size.
struct PredicateDecoder {
    private var nodes = 0

    private mutating func enter(
        _ depth: Int, _ reader: borrowing ByteReader
    ) throws(CodingError) {
        nodes += 1
        guard depth <= PredicateTree.maximumDepth, nodes <= PredicateTree.maximumNodes else {
            throw CodingError(
                expected: "a predicate of at most \(PredicateTree.maximumDepth) levels and "
                    + "\(PredicateTree.maximumNodes) parts", offset: reader.offset)
        }
    }

    mutating func predicate(
        _ reader: inout ByteReader, _ depth: Int
    ) throws(CodingError) -> PredicateTree {
        try enter(depth, reader)
        let start = reader.offset
        switch try reader.uint8() {
        case 0: return .constant(false)
        case 1: return .constant(true)
        case 2: return .and(try predicates(&reader, depth + 1))
        case 3: return .or(try predicates(&reader, depth + 1))
        case 4: return .not(try predicate(&reader, depth + 1))
        case 5: return .comparison(try comparison(&reader, depth + 1))
        default: throw CodingError(expected: "a predicate", offset: start)
        }
    }

    private mutating func predicates(
        _ reader: inout ByteReader, _ depth: Int
    ) throws(CodingError) -> [PredicateTree] {
        var parts: [PredicateTree] = []
        for _ in 0..<(try reader.count()) { parts.append(try predicate(&reader, depth)) }
        return parts
    }

    private mutating func comparison(
        _ reader: inout ByteReader, _ depth: Int
    ) throws(CodingError) -> Comparison {
        let op = try choice(Comparison.Operator.allCases, "an operator", &reader)
        let start = reader.offset
        let options = ComparisonOptions(rawValue: try reader.uint8())
        guard options.isSubset(of: [.caseInsensitive, .diacriticInsensitive]) else {
            throw CodingError(expected: "options of a comparison", offset: start)
        }
        let quantifier = try choice(Comparison.Quantifier.allCases, "a quantifier", &reader)
        let left = try expression(&reader, depth)
        let right = try expression(&reader, depth)
        return Comparison(left, op, right, options: options, quantifier: quantifier)
    }

    private mutating func expression(
        _ reader: inout ByteReader, _ depth: Int
    ) throws(CodingError) -> QueryExpression {
        try enter(depth, reader)
        let start = reader.offset
        switch try reader.uint8() {
        case 0: return .constant(try PropertyValue(from: &reader))
        case 1:
            let entity = try reader.string()
            return .object(ObjectID(entity: entity, number: try reader.uint64()))
        case 2: return .list(try expressions(&reader, depth + 1))
        case 3: return .keyPath(try names(&reader))
        case 4: return .selfObject
        case 5:
            let name = try reader.string()
            return .variable(name, path: try names(&reader))
        case 6:
            let aggregate = try choice(Aggregate.allCases, "an aggregate", &reader)
            let collection = try expression(&reader, depth + 1)
            return .aggregate(aggregate, of: collection, path: try names(&reader))
        case 7:
            let collection = try expression(&reader, depth + 1)
            let variable = try reader.string()
            let condition = try predicate(&reader, depth + 1)
            return .subquery(of: collection, variable: variable, where: condition)
        case 8:
            let op = try choice(Arithmetic.allCases, "an arithmetic operator", &reader)
            let left = try expression(&reader, depth + 1)
            return .arithmetic(op, left, try expression(&reader, depth + 1))
        default: throw CodingError(expected: "an expression", offset: start)
        }
    }

    private mutating func expressions(
        _ reader: inout ByteReader, _ depth: Int
    ) throws(CodingError) -> [QueryExpression] {
        var elements: [QueryExpression] = []
        for _ in 0..<(try reader.count()) { elements.append(try expression(&reader, depth)) }
        return elements
    }

    private func names(_ reader: inout ByteReader) throws(CodingError) -> [String] {
        var names: [String] = []
        for _ in 0..<(try reader.count()) { names.append(try reader.string()) }
        return names
    }

    private func choice<T>(
        _ all: [T], _ expected: String, _ reader: inout ByteReader
    ) throws(CodingError) -> T {
        let start = reader.offset
        let index = Int(try reader.uint8())
        guard index < all.count else { throw CodingError(expected: expected, offset: start) }
        return all[index]
    }
}

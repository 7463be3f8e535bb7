package import TandemModel

extension PredicateTree {
    /// Appends the predicate's binary form, a tag byte for each part.
    package func encode(into writer: inout ByteWriter) {
        switch self {
        case .constant(let value): writer.uint8(value ? 1 : 0)
        case .and(let parts): PredicateTree.encode(2, parts, into: &writer)
        case .or(let parts): PredicateTree.encode(3, parts, into: &writer)
        case .not(let part):
            writer.uint8(4)
            part.encode(into: &writer)
        case .comparison(let comparison):
            writer.uint8(5)
            comparison.encode(into: &writer)
        }
    }

    /// Reads the binary form.
    ///
    /// Throws ``CodingError`` for invalid bytes, or a predicate deeper than ``maximumDepth`` or
    /// larger than ``maximumNodes``.
    package init(from reader: inout ByteReader) throws(CodingError) {
        var decoder = PredicateDecoder()
        self = try decoder.predicate(&reader, 1)
    }

    private static func encode(
        _ tag: UInt8, _ parts: [PredicateTree], into writer: inout ByteWriter
    ) {
        writer.uint8(tag)
        writer.count(parts.count)
        for part in parts { part.encode(into: &writer) }
    }
}

extension Comparison {
    fileprivate func encode(into writer: inout ByteWriter) {
        writer.uint8(UInt8(Operator.allCases.firstIndex(of: op) ?? 0))
        writer.uint8(options.rawValue)
        writer.uint8(quantifier.rawValue)
        left.encode(into: &writer)
        right.encode(into: &writer)
    }
}

extension QueryExpression {
    fileprivate func encode(into writer: inout ByteWriter) {
        switch self {
        case .constant(let value):
            writer.uint8(0)
            value.encode(into: &writer)
        case .object(let id):
            writer.uint8(1)
            writer.string(id.entity)
            writer.uint64(id.number)
        case .list(let elements):
            writer.uint8(2)
            writer.count(elements.count)
            for element in elements { element.encode(into: &writer) }
        case .keyPath(let names):
            writer.uint8(3)
            QueryExpression.encode(names, into: &writer)
        case .selfObject: writer.uint8(4)
        case .variable(let name, let path):
            writer.uint8(5)
            writer.string(name)
            QueryExpression.encode(path, into: &writer)
        case .aggregate(let aggregate, let collection, let path):
            writer.uint8(6)
            writer.uint8(UInt8(Aggregate.allCases.firstIndex(of: aggregate) ?? 0))
            collection.encode(into: &writer)
            QueryExpression.encode(path, into: &writer)
        case .subquery(let collection, let variable, let predicate):
            writer.uint8(7)
            collection.encode(into: &writer)
            writer.string(variable)
            predicate.encode(into: &writer)
        case .arithmetic(let op, let left, let right):
            writer.uint8(8)
            writer.uint8(UInt8(Arithmetic.allCases.firstIndex(of: op) ?? 0))
            left.encode(into: &writer)
            right.encode(into: &writer)
        }
    }

    private static func encode(_ names: [String], into writer: inout ByteWriter) {
        writer.count(names.count)
        for name in names { writer.string(name) }
    }
}

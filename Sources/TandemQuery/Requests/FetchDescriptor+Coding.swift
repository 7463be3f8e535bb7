package import TandemModel

extension FetchDescriptor {
    /// The version of the binary form.
    private static let format: UInt8 = 1

    /// Appends the request's binary form: version, entity, flags, predicate, sort keys, limit
    /// and offset.
    package func encode(into writer: inout ByteWriter) {
        writer.uint8(FetchDescriptor.format)
        writer.string(entity)
        writer.bool(includesSubentities)
        writer.bool(predicate != nil)
        predicate?.tree.encode(into: &writer)
        writer.count(sort.count)
        for key in sort {
            writer.string(key.keyPath)
            writer.bool(key.ascending)
            writer.uint8(key.selector.rawValue)
        }
        writer.bool(limit != nil)
        writer.int64(Int64(limit ?? 0))
        writer.int64(Int64(offset))
    }

    /// Reads the binary form.
    ///
    /// Throws ``CodingError`` for invalid bytes, a negative limit or offset, or a predicate beyond
    /// ``PredicateTree/maximumDepth`` or ``PredicateTree/maximumNodes``.
    package init(from reader: inout ByteReader) throws(CodingError) {
        let start = reader.offset
        guard try reader.uint8() == FetchDescriptor.format else {
            throw CodingError(expected: "request format \(FetchDescriptor.format)", offset: start)
        }
        self.init(entity: try reader.string())
        includesSubentities = try reader.bool()
        if try reader.bool() { predicate = ObjectPredicate(try PredicateTree(from: &reader)) }
        for _ in 0..<(try reader.count(itemBytes: 3)) {
            sort.append(try SortComponent(from: &reader))
        }
        let hasLimit = try reader.bool()
        let limit = try FetchDescriptor.natural(from: &reader)
        self.limit = hasLimit ? limit : nil
        offset = try FetchDescriptor.natural(from: &reader)
    }

    private static func natural(from reader: inout ByteReader) throws(CodingError) -> Int {
        let start = reader.offset
        guard let value = Int(exactly: try reader.int64()), value >= 0 else {
            throw CodingError(expected: "a non-negative number", offset: start)
        }
        return value
    }
}

extension SortComponent {
    fileprivate init(from reader: inout ByteReader) throws(CodingError) {
        let keyPath = try reader.string()
        let ascending = try reader.bool()
        let start = reader.offset
        guard let selector = Selector(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "the selector of a sort key", offset: start)
        }
        self.init(keyPath, ascending: ascending, selector: selector)
    }
}

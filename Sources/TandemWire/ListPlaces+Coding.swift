public import TandemModel
public import TandemQuery

extension ListPlaces: WireCodable {
    /// The fewest bytes that an object takes, beside its links.
    private static let minimumBytes = 12

    /// Appends the binary form: names of sections, what is reached, the number of hops, then for each object reference, section, links and key.
    public func encode(into writer: inout ByteWriter) {
        writer.names(sections)
        writer.references(reached)
        writer.count(hops)
        writer.count(count)
        for index in 0..<count {
            writer.reference(objects[index])
            writer.varint(UInt64(sectionPlace(index)))
            for link in links(index) { writer.varint(UInt64(link)) }
            let key = key(index)
            writer.count(key.count)
            writer.raw(key)
        }
    }

    /// Reads the binary form; throws `CodingError`, also for a place beyond the names or those reached.
    public init(from reader: inout ByteReader) throws(CodingError) {
        let sections = try reader.names(limit: .max)
        let reached = try reader.references()
        let start = reader.offset
        let hops = Int(clamping: try reader.varint())
        guard hops <= WireLimits.names else {
            throw CodingError(expected: "at most \(WireLimits.names) hops", offset: start)
        }
        self.init(sections: sections, reached: reached, hops: hops)
        let count = try reader.count(itemBytes: Self.minimumBytes + hops)
        reserveCapacity(count, keyBytes: 0)
        var links = [UInt32](repeating: 0, count: hops)
        for _ in 0..<count {
            let object = try reader.reference()
            let section = try reader.place(below: sections.count)
            for hop in 0..<hops { links[hop] = try reader.place(below: reached.count + 1) }
            let key = try reader.blob()
            key.withUnsafeBytes { append(object, key: $0, section: section, links: links[...]) }
        }
    }
}

extension ListDetails: WireCodable {
    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.optional(sectionKeyPath) { $0.string($1) }
        writer.names(refreshKeyPaths)
        writer.list(hops) { $0.names($1) }
        writer.uint32(rowsUpTo)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        self.init(
            sectionKeyPath: try reader.optionalString(), refreshKeyPaths: try reader.names(),
            hops: try reader.list(itemBytes: 1, limit: WireLimits.names) {
                reader throws(CodingError) in
                try reader.names(limit: WireLimits.keyPathHops)
            }, rowsUpTo: try reader.uint32())
    }
}

extension ByteReader {
    fileprivate mutating func place(below count: Int) throws(CodingError) -> UInt32 {
        let start = offset
        let place = try varint()
        guard place < UInt64(count), place <= UInt64(UInt32.max) else {
            throw CodingError(expected: "a place below \(count)", offset: start)
        }
        return UInt32(place)
    }
}

import TandemModel

/// The objects that the rows of a cached list reach through the list's to-one key paths: for each
/// row, one object per hop.
struct CachedLinks: Equatable {
    /// The reached objects, without duplicates.
    var objects: [ObjectReference] = []
    /// The number of hops from a row.
    var hopCount = 0
    /// For each row and hop, the object's index plus 1; 0 if the path ends earlier.
    var objectIndices: [UInt32] = []

    /// Returns the object that a row reaches by a hop, or nil if the row's path ends earlier.
    func object(row: Int, hop: Int) -> ObjectReference? {
        let index = Int(objectIndices[row * hopCount + hop])
        return index == 0 ? nil : objects[index - 1]
    }

    /// Appends the binary form: the objects, the number of hops, and the indexes.
    func encode(into writer: inout ByteWriter) {
        writer.count(objects.count)
        for object in objects {
            writer.uint64(object.number)
            writer.uint16(object.tag)
        }
        writer.count(hopCount)
        for index in objectIndices { writer.count(Int(index)) }
    }

    init() {}

    /// Reads the binary form of the links of `rows` rows.
    ///
    /// Throws `CodingError`, for example if an index is out of range.
    init(of rows: Int, from reader: inout ByteReader) throws(CodingError) {
        let count = try reader.count(itemBytes: 10)
        objects.reserveCapacity(count)
        for _ in 0..<count {
            let number = try reader.uint64()
            objects.append(ObjectReference(tag: try reader.uint16(), number: number))
        }
        hopCount = try reader.count()
        let (all, overflow) = rows.multipliedReportingOverflow(by: hopCount)
        guard !overflow, all <= reader.remaining else {
            throw CodingError(expected: "the links of \(rows) rows", offset: reader.offset)
        }
        objectIndices.reserveCapacity(all)
        for _ in 0..<all {
            let index = try reader.varint()
            guard index <= UInt64(count) else {
                throw CodingError(expected: "one of \(count) objects", offset: reader.offset)
            }
            objectIndices.append(UInt32(index))
        }
    }
}

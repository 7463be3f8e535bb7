public import TandemModel
public import TandemQuery

/// The answer to `explain`: how a fetch was carried out, which it was, to its end.
public struct Explained: WireCodable {
    /// The position that was read at.
    public var position: UInt64
    /// How candidates were found, what finds related objects last.
    public var steps: [FetchPlanStep]
    /// How many rows were read to find the answer; those that it is made of may be read once more.
    public var rowsRead: UInt64
    /// How many keys of indexes and links were read.
    public var keysRead: UInt64
    /// How many objects the answer would have, or for a count what it would say.
    public var returned: UInt64

    /// An answer of the given content.
    public init(
        position: UInt64, steps: [FetchPlanStep], rowsRead: UInt64, keysRead: UInt64,
        returned: UInt64
    ) {
        self.position = position
        self.steps = steps
        self.rowsRead = rowsRead
        self.keysRead = keysRead
        self.returned = returned
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.list(steps) { $0.step($1) }
        writer.uint64(rowsRead)
        writer.uint64(keysRead)
        writer.uint64(returned)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        steps = try reader.list(itemBytes: 9, limit: WireLimits.names) {
            reader throws(CodingError) in
            try reader.step()
        }
        rowsRead = try reader.uint64()
        keysRead = try reader.uint64()
        returned = try reader.uint64()
    }
}

extension ByteWriter {
    fileprivate mutating func step(_ step: FetchPlanStep) {
        string(step.entity)
        let place = FetchPlanStep.Access.allCases.firstIndex(of: step.access) ?? 0
        uint8(UInt8(place))
        names(step.properties)
        uint32(UInt32(clamping: step.ranges))
        bool(step.decides)
        bool(step.isOrdered)
    }
}

extension ByteReader {
    fileprivate mutating func step() throws(CodingError) -> FetchPlanStep {
        let entity = try string()
        let start = offset
        let place = Int(try uint8())
        guard FetchPlanStep.Access.allCases.indices.contains(place) else {
            throw CodingError(expected: "a way to find objects", offset: start)
        }
        return FetchPlanStep(
            entity: entity, access: FetchPlanStep.Access.allCases[place],
            properties: try names(limit: WireLimits.names), ranges: Int(try uint32()),
            decides: try bool(), isOrdered: try bool())
    }
}

package import TandemModel
package import TandemQuery

/// The answer to `explain`: the plan of an executed fetch, and how much it read.
package struct ExplainAnswer: WireCodable {
    /// The position of the state that the fetch read.
    package var position: UInt64
    /// The plan, as a tree in preorder.
    package var steps: [FetchPlanStep]
    /// The number of rows read to find the answer; rows in the answer may be read a second time.
    package var rowsRead: UInt64
    /// The number of index and link keys read.
    package var keysRead: UInt64
    /// The number of objects or groups in the answer; for a count, the count.
    package var returned: UInt64
    /// The kind of answer.
    package var output: FetchOutput
    /// Whether the daemon's thread answered the request on arrival; otherwise the read was queued.
    package var atOnce: Bool

    /// Creates an answer with the given content.
    package init(
        position: UInt64, steps: [FetchPlanStep], rowsRead: UInt64, keysRead: UInt64,
        returned: UInt64, output: FetchOutput, atOnce: Bool
    ) {
        self.position = position
        self.steps = steps
        self.rowsRead = rowsRead
        self.keysRead = keysRead
        self.returned = returned
        self.output = output
        self.atOnce = atOnce
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.list(steps) { $0.step($1) }
        writer.uint64(rowsRead)
        writer.uint64(keysRead)
        writer.uint64(returned)
        writer.uint8(UInt8(FetchOutput.allCases.firstIndex(of: output) ?? 0))
        writer.bool(atOnce)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        steps = try reader.list(itemBytes: 11, limit: WireLimits.names) {
            reader throws(CodingError) in
            try reader.step()
        }
        rowsRead = try reader.uint64()
        keysRead = try reader.uint64()
        returned = try reader.uint64()
        output = try reader.output()
        atOnce = try reader.bool()
    }
}

extension ByteWriter {
    fileprivate mutating func step(_ step: FetchPlanStep) {
        string(step.entity)
        let place = FetchPlanStep.Access.allCases.firstIndex(of: step.access) ?? 0
        uint8(UInt8(place))
        names(step.properties)
        uint32(UInt32(clamping: step.ranges))
        bool(step.findsOnlyMatches)
        bool(step.isOrdered)
        uint8(UInt8(clamping: step.depth))
        bool(step.needsOnlyKeys)
    }
}

extension ByteReader {
    fileprivate mutating func output() throws(CodingError) -> FetchOutput {
        let start = offset
        let place = Int(try uint8())
        guard FetchOutput.allCases.indices.contains(place) else {
            throw CodingError(expected: "a kind of answer", offset: start)
        }
        return FetchOutput.allCases[place]
    }

    fileprivate mutating func step() throws(CodingError) -> FetchPlanStep {
        let entity = try string()
        let start = offset
        let place = Int(try uint8())
        guard FetchPlanStep.Access.allCases.indices.contains(place) else {
            throw CodingError(expected: "an access path", offset: start)
        }
        return FetchPlanStep(
            entity: entity, access: FetchPlanStep.Access.allCases[place],
            properties: try names(limit: WireLimits.names), ranges: Int(try uint32()),
            findsOnlyMatches: try bool(), isOrdered: try bool(), depth: Int(try uint8()),
            needsOnlyKeys: try bool())
    }
}

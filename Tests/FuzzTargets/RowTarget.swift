import TandemModel

extension FuzzTarget {
    /// Rows of an entity: a row with the correct shape can be read, and a valid one can be written
    /// again.
    ///
    /// The first byte selects the entity, the rest is the row.
    static let rows = FuzzTarget("rows", seeds: rowSeeds) { input in
        let graph = try SampleGraph.get()
        var input = FuzzInput(input)
        let entity = graph.model.entities[input.choice(graph.model.entities.count)]
        try RowProperties.check(Row(bytes: input.rest()), entity)
    }

    @Sendable private static func rowSeeds() -> [[UInt8]] {
        guard let graph = SampleGraph.shared else { return [] }
        return graph.objects.compactMap { object in
            guard let row = graph.rows[object],
                let index = graph.model.entities.firstIndex(where: { $0.tag == object.tag })
            else { return nil }
            return [UInt8(index)] + row.bytes
        }
    }
}

/// The properties of rows.
enum RowProperties {
    static func check(_ row: Row, _ entity: CompiledEntity) throws {
        let isValid = row.isValid(for: entity)
        guard row.hasShape(of: entity) else {
            return try hold(!isValid, "a valid row with an invalid shape")
        }
        let values = row.values(in: entity)
        for slot in entity.properties.indices { read(slot, of: row, entity) }
        _ = row.blobs(in: entity)
        try hold(
            row.difference(from: row, in: entity) == PropertyMask(), "a row differs from itself")
        if isValid { try rewrite(row, values, entity) }
    }

    /// Reads a column in every way.
    private static func read(_ slot: Int, of row: Row, _ entity: CompiledEntity) {
        _ = row.isNull(slot, in: entity)
        _ = row.reference(slot, in: entity)
        _ = row.withBytes(slot, in: entity) { $0.count }
        var key = KeyEncoder()
        key.append(slot, of: row, in: entity)
        key.append(row.uncheckedValue(slot, in: entity), ascending: false)
    }

    /// Checks that a row made of another row's values has the same values, even after each value is
    /// replaced by itself.
    private static func rewrite(_ row: Row, _ values: [PropertyValue], _ entity: CompiledEntity)
        throws
    {
        let written = Row(values, of: entity, version: row.modelVersion)
        try hold(written.isValid(for: entity), "a row made of a valid one's values is not valid")
        let again = written.values(in: entity)
        try hold(again.map(bytes) == values.map(bytes), "\(values) became \(again)")
        try hold(
            Row(again, of: entity, version: row.modelVersion) == written,
            "the same values result in a different row")
        for slot in entity.properties.indices {
            let same = written.replacing([(slot, values[slot])], in: entity)
            try hold(same == written, "replacing slot \(slot) by itself changes the row")
            let other = row.replacing([(slot, .null)], in: entity)
            try hold(other.isValid(for: entity), "a row without slot \(slot) is not valid")
            try hold(other.isNull(slot, in: entity), "slot \(slot) is not null after its removal")
        }
    }

    private static func bytes(_ value: PropertyValue) -> [UInt8] {
        var writer = ByteWriter()
        value.encode(into: &writer)
        return writer.bytes
    }
}

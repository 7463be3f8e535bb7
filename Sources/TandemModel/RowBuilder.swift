import FoundationEssentials

/// Writes the bytes of a row.
enum RowBuilder {
    static func build(_ values: [Value], _ entity: CompiledEntity, _ version: UInt16) -> [UInt8] {
        precondition(
            values.count == entity.properties.count,
            "\(entity.name) has \(entity.properties.count) properties, not \(values.count).")
        let layout = entity.layout
        var bytes = [UInt8](repeating: 0, count: layout.minimumBytes)
        store(version, &bytes, 0)
        store(entity.tag, &bytes, 2)
        for (slot, column) in layout.columns.enumerated() {
            guard let column else { continue }
            let value = column.storage == .data ? values[slot].inRow : values[slot]
            write(value, column, entity, slot, &bytes)
            if column.storage.width == 0 {
                var end = UInt32(bytes.count)
                if case .blob = value { end |= RowLayout.blobFlag }
                store(end, &bytes, layout.endsOffset + 4 * column.place)
            }
        }
        return bytes
    }

    private static func write(
        _ value: Value, _ column: RowLayout.Column, _ entity: CompiledEntity, _ slot: Int,
        _ bytes: inout [UInt8]
    ) {
        switch (column.storage, value) {
        case (_, .null):
            bytes[RowLayout.headerBytes + column.nullBit >> 3] |= 1 << UInt8(column.nullBit & 7)
        case (.bool, .bool(let value)): bytes[column.place] = value ? 1 : 0
        case (.int, .int(let value)): store(value, &bytes, column.place)
        case (.double, .double(let value)): store(value.bitPattern, &bytes, column.place)
        case (.date, .date(let value)): store(value.bitPattern, &bytes, column.place)
        case (.uuid, .uuid(let value)):
            withUnsafeBytes(of: value.uuid) {
                bytes.replaceSubrange(column.place..<(column.place + 16), with: $0)
            }
        case (.reference, .reference(let value)):
            store(value.tag, &bytes, column.place)
            store(value.number, &bytes, column.place + 2)
        case (.decimal, .decimal(let value)): bytes.append(contentsOf: value.description.utf8)
        case (.string, .string(let value)), (.url, .url(let value)):
            bytes.append(contentsOf: value.utf8)
        case (.data, .data(let value)): bytes.append(contentsOf: value)
        case (.data, .blob(let value)): bytes.append(contentsOf: value.bytes)
        default:
            preconditionFailure(
                "\(entity.name).\(entity.properties[slot].name) can't hold \(value).")
        }
    }

    private static func store<T: FixedWidthInteger>(_ value: T, _ bytes: inout [UInt8], _ at: Int) {
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: at, as: T.self)
        }
    }
}

extension CompiledProperty {
    /// True when a value is of this property's type, null included; says nothing of limits.
    public func accepts(_ value: Value) -> Bool {
        switch (kind, value) {
        case (_, .null): !isToMany
        case (.attribute(let attribute), .double(let number)):
            attribute.type == .double && !number.isNaN
        case (.attribute(let attribute), .date(let seconds)):
            attribute.type == .date && seconds.isFinite
        case (.attribute(let attribute), .decimal(let number)):
            attribute.type == .decimal && number.isFinite
        case (.attribute(let attribute), _): value.type == attribute.type
        case (.relationship(let relationship), .reference): !relationship.toMany
        default: false
        }
    }
}

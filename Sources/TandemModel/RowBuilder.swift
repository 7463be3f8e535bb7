import FoundationEssentials

/// A writer of the bytes of rows.
enum RowBuilder {
    static func build(_ values: [PropertyValue], _ entity: CompiledEntity, _ version: UInt16)
        -> [UInt8]
    {
        precondition(
            values.count == entity.properties.count,
            "\(entity.name) has \(entity.properties.count) properties, not \(values.count).")
        let layout = entity.layout
        var bytes = [UInt8](repeating: 0, count: layout.minimumBytes)
        store(version, &bytes, 0)
        store(entity.tag, &bytes, 2)
        for (slot, column) in layout.columns.enumerated() {
            guard let column else { continue }
            let value = column.storage.mayBeLong ? values[slot].inRow : values[slot]
            write(value, column, entity, slot, &bytes)
            if column.storage.width == 0 {
                var end = UInt32(bytes.count)
                if value.isOutside { end |= RowLayout.blobFlag }
                store(end, &bytes, layout.endsOffset + 4 * column.place)
            }
        }
        return bytes
    }

    /// Returns the bytes of a row with new values in some slots.
    ///
    /// The result is identical to a row built from all values.
    static func replace(
        _ changes: [SlotValue], in row: Row, _ entity: CompiledEntity, _ version: UInt16
    ) -> [UInt8] {
        let layout = entity.layout
        var changed = PropertyMask()
        for change in changes where layout.columns[change.slot] != nil {
            changed.insert(change.slot)
        }
        if changed.intersection(layout.variable).isEmpty {
            return replaceFixed(changes, in: row, entity, version)
        }
        var bytes = [UInt8](row.bytes[..<layout.minimumBytes])
        bytes.reserveCapacity(row.bytes.count + 64)
        store(version, &bytes, 0)
        for (slot, column) in layout.columns.enumerated() {
            guard let column else { continue }
            var isBlob = false
            if changed.contains(slot) {
                clear(column, &bytes)
                // If a slot occurs several times, the last value is used.
                var value = changes.last { $0.slot == slot }?.value ?? .null
                if column.storage.mayBeLong { value = value.inRow }
                isBlob = value.isOutside
                write(value, column, entity, slot, &bytes)
            } else if column.storage.width == 0 {
                isBlob = row.isBlob(column, layout)
                bytes.append(contentsOf: row.bytes[row.range(column, layout)])
            }
            if column.storage.width == 0 {
                let end = UInt32(bytes.count) | (isBlob ? RowLayout.blobFlag : 0)
                store(end, &bytes, layout.endsOffset + 4 * column.place)
            }
        }
        return bytes
    }

    /// Returns the changed bytes; only fixed-width columns may change, so all offsets remain valid.
    private static func replaceFixed(
        _ changes: [SlotValue], in row: Row, _ entity: CompiledEntity, _ version: UInt16
    ) -> [UInt8] {
        var bytes = row.bytes
        store(version, &bytes, 0)
        for change in changes where entity.isFixed(change.slot) {
            setFixed(change.value, change.slot, &bytes, entity)
        }
        return bytes
    }

    /// Overwrites a column of fixed width with a value.
    static func setFixed(
        _ value: PropertyValue, _ slot: Int, _ bytes: inout [UInt8], _ entity: CompiledEntity
    ) {
        guard let column = entity.layout.columns[slot] else { return }
        if value.isNull {
            clear(column, &bytes)
        } else {
            // The value overwrites all bytes of the column, so they need not be cleared.
            bytes[RowLayout.headerBytes + column.nullBit >> 3] &= ~(1 << UInt8(column.nullBit & 7))
        }
        write(value, column, entity, slot, &bytes)
    }

    /// Resets a column to its state before a value is written.
    private static func clear(_ column: RowLayout.Column, _ bytes: inout [UInt8]) {
        bytes[RowLayout.headerBytes + column.nullBit >> 3] &= ~(1 << UInt8(column.nullBit & 7))
        for at in column.place..<(column.place + column.storage.width) { bytes[at] = 0 }
    }

    private static func write(
        _ value: PropertyValue, _ column: RowLayout.Column, _ entity: CompiledEntity, _ slot: Int,
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
        case (.string, .longText(let value)): bytes.append(contentsOf: value.bytes)
        default:
            preconditionFailure(
                "\(entity.name).\(entity.properties[slot].name) cannot hold \(value).")
        }
    }

    static func store<T: FixedWidthInteger>(_ value: T, _ bytes: inout [UInt8], _ at: Int) {
        precondition(
            at >= 0 && at + MemoryLayout<T>.size <= bytes.count, "The row is too short.")
        bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: value.littleEndian, toByteOffset: at, as: T.self)
        }
    }
}

extension CompiledProperty {
    /// Returns whether a value is null or of this property's type; limits are not checked.
    package func accepts(_ value: PropertyValue) -> Bool {
        switch value {
        case .null: !isToMany
        case .reference: relationship != nil && !isToMany
        default: type.map { value.fits($0) } ?? false
        }
    }
}

extension PropertyValue {
    /// Returns whether a value is of a type and, for number types, neither NaN nor a forbidden
    /// infinity.
    ///
    /// The result is false for null and references.
    func fits(_ type: AttributeType) -> Bool {
        switch self {
        case .double(let number): type == .double && !number.isNaN
        case .date(let seconds): type == .date && seconds.isFinite
        case .decimal(let number): type == .decimal && number.isFinite
        default: self.type == type
        }
    }
}

import FoundationEssentials

extension RowView {
    /// Returns whether the bytes are a row of the entity: long enough, with columns in order and
    /// texts in UTF-8.
    ///
    /// Cost: reads each byte of the variable columns.
    package func isValid(for entity: CompiledEntity) -> Bool {
        let layout = entity.layout
        guard bytes.count >= layout.minimumBytes, tag == entity.tag else { return false }
        var start = layout.minimumBytes
        // Each variable column ends at the start of the next one, and the last one at the end of
        // the row.
        for column in layout.checkedColumns {
            let stored = fixed(at: layout.endsOffset + 4 * column.place, UInt32.self)
            let end = Int(stored & ~RowLayout.blobFlag)
            guard end >= start, end <= bytes.count else { return false }
            if !isNull(column) {
                let content = slice(Range(uncheckedBounds: (start, end)))
                let isLong = stored & RowLayout.blobFlag != 0
                guard Self.isValid(content, column.storage, isLong) else { return false }
            }
            start = end
        }
        return start == bytes.count
    }

    @inline(__always)
    private static func isValid(
        _ content: UnsafeRawBufferPointer, _ storage: RowLayout.Storage, _ isLong: Bool
    ) -> Bool {
        switch storage {
        case .string: isLong ? TextReference(bytes: content) != nil : content.isUTF8
        case .url: content.isUTF8
        case .data: !isLong || BlobReference(bytes: content) != nil
        case .decimal: Decimal(string: String(decoding: content, as: UTF8.self)) != nil
        default: true
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are UTF-8.
    ///
    /// ASCII is checked eight bytes at a time; decoding begins at the first byte that is not ASCII.
    fileprivate var isUTF8: Bool {
        var at = 0
        while at + 8 <= count {
            guard isASCII(at) else { return isUTF8(from: at) }
            at += 8
        }
        // The last eight bytes include the rest, and may overlap bytes that are already checked.
        if at > 0, isASCII(count - 8) { return true }
        while at < count {
            guard self[at] < 0x80 else { return isUTF8(from: at) }
            at += 1
        }
        return true
    }

    @inline(__always)
    private func isASCII(_ at: Int) -> Bool {
        loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    }

    /// Returns whether the bytes from `start` are UTF-8; the bytes before must be ASCII.
    private func isUTF8(from start: Int) -> Bool {
        let rest = UnsafeRawBufferPointer(rebasing: self[start...])
        return rest.withMemoryRebound(to: UInt8.self) {
            (try? UTF8Span(validating: $0.span)) != nil
        }
    }
}

import FoundationEssentials

extension RowView {
    /// True when the bytes are a row of the entity: long enough, ends in order, text in UTF-8.
    ///
    /// Cost: a look at each byte of the variable columns.
    public func isValid(for entity: CompiledEntity) -> Bool {
        let layout = entity.layout
        guard bytes.count >= layout.minimumBytes, tag == entity.tag else { return false }
        var start = layout.minimumBytes
        // Each column of variable width ends where the next one begins, the last one with the row.
        for column in layout.checkedColumns {
            let stored = fixed(at: layout.endsOffset + 4 * column.place, UInt32.self)
            let end = Int(stored & ~RowLayout.blobFlag)
            guard end >= start, end <= bytes.count else { return false }
            if !isNull(column) {
                let content = part(Range(uncheckedBounds: (start, end)))
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
    /// Whether the bytes are UTF-8: ASCII is found eight at a step, and only what follows is decoded.
    fileprivate var isUTF8: Bool {
        var at = 0
        while at + 8 <= count {
            guard isASCII(at) else { return isUTF8(from: at) }
            at += 8
        }
        // The last eight tell of the rest, whatever was seen of them before.
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

    /// Whether the bytes behind some of ASCII are UTF-8.
    private func isUTF8(from start: Int) -> Bool {
        let rest = UnsafeRawBufferPointer(rebasing: self[start...])
        return rest.withMemoryRebound(to: UInt8.self) {
            (try? UTF8Span(validating: $0.span)) != nil
        }
    }
}

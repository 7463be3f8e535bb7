import FoundationEssentials

extension RowView {
    /// True when the bytes are a row of the entity: long enough, ends in order, text in UTF-8.
    ///
    /// Cost: a look at each byte of the variable columns.
    public func isValid(for entity: CompiledEntity) -> Bool {
        let layout = entity.layout
        guard hasShape(of: entity) else { return false }
        for column in layout.checkedColumns where !isNull(column) {
            guard isValid(column, layout) else { return false }
        }
        return true
    }

    private func isValid(_ column: RowLayout.Column, _ layout: RowLayout) -> Bool {
        let content = part(range(column, layout))
        switch column.storage {
        case .string where isBlob(column, layout): return TextReference(bytes: content) != nil
        case .string, .url: return content.isUTF8
        case .decimal: return Decimal(string: String(decoding: content, as: UTF8.self)) != nil
        case .data: return !isBlob(column, layout) || BlobReference(bytes: content) != nil
        default: return true
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes are UTF-8: ASCII is found eight at a step, and only what follows is decoded.
    fileprivate var isUTF8: Bool {
        var at = 0
        while at + 8 <= count {
            guard loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            else { return isUTF8(from: at) }
            at += 8
        }
        while at < count {
            guard self[at] < 0x80 else { return isUTF8(from: at) }
            at += 1
        }
        return true
    }

    /// Whether the bytes behind some of ASCII are UTF-8.
    private func isUTF8(from start: Int) -> Bool {
        let rest = UnsafeRawBufferPointer(rebasing: self[start...])
        return rest.withMemoryRebound(to: UInt8.self) {
            (try? UTF8Span(validating: $0.span)) != nil
        }
    }
}

import FoundationEssentials
package import TandemModel

extension CompiledRequest {
    /// Returns the encoded sort keys, without the object's number; nil if the reader lacks an
    /// object.
    ///
    /// Byte order is sort order: nil sorts first, descending keys are inverted. Append the number
    /// for a total order.
    package func sortKey<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> [UInt8]? {
        row.withView { sortKey(object, $0, reader) }
    }

    /// Returns the encoded sort keys of a borrowed row.
    package func sortKey<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> [UInt8]? {
        guard let evaluation = evaluation(object, row) else { return nil }
        var encoder = KeyEncoder()
        for at in sort.indices {
            guard append(at, of: evaluation, reader, to: &encoder) else { return nil }
        }
        return encoder.bytes
    }

    /// Appends one component of the sort key; returns false if the reader lacks an object.
    func append<R: GraphReader & ~Copyable>(
        _ at: Int, of evaluation: Evaluation, _ reader: borrowing R, to encoder: inout KeyEncoder
    ) -> Bool {
        let key = sort[at].key
        if let slot = sort[at].path.ownSlot, key.selector == .compare {
            let object = evaluation.object
            encoder.append(slot, of: object.row, in: object.entity, ascending: key.ascending)
            return true
        }
        guard let value = evaluation.value(sort[at].path, reader) else { return false }
        encoder.append(value, by: key)
        return true
    }

    /// Returns the name of the object's section; `""` if there is no section key path.
    package func section<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> SectionName {
        guard let sectionPath else { return .known("") }
        return row.withView { row in
            guard let evaluation = evaluation(object, row),
                let value = evaluation.value(sectionPath, reader)
            else { return .unknown }
            return .known(value.sectionName)
        }
    }

    /// Returns the encoded values of the refresh key paths, for comparison; nil if the reader lacks
    /// an object.
    ///
    /// The order of a path's values has no effect. The result has at most 64 bytes: a longer one is
    /// replaced by its hash.
    package func refreshValues<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> [UInt8]? {
        row.withView { refreshValues(object, $0, reader) }
    }

    private func refreshValues<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> [UInt8]? {
        guard let evaluation = evaluation(object, row) else { return nil }
        var writer = ByteWriter()
        for (_, path) in refresh {
            guard let values = evaluation.values(.path(path), reader) else { return nil }
            writer.count(values.count)
            let encoded = values.map(CompiledRequest.encoded)
            for bytes in encoded.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                writer.raw(bytes)
            }
        }
        guard writer.count > 64 else { return writer.bytes }
        let hash = StableHash(writer.bytes)
        var digest = ByteWriter(capacity: 16)
        digest.uint64(hash.first)
        digest.uint64(hash.second)
        return digest.bytes
    }

    private static func encoded(_ value: PropertyValue) -> [UInt8] {
        var writer = ByteWriter()
        value.encode(into: &writer)
        return writer.bytes
    }
}

extension KeyEncoder {
    /// Appends a value as a component of a sort key.
    mutating func append(_ value: PropertyValue, by key: SortComponent) {
        if let text = value.key(key.selector) {
            append(bytes: text, ascending: key.ascending)
        } else {
            append(value, ascending: key.ascending)
        }
    }
}

extension PropertyValue {
    /// Returns the bytes by which a text is sorted with a selector; nil if the value is sorted
    /// unchanged.
    fileprivate func key(_ selector: SortComponent.Selector) -> [UInt8]? {
        if selector == .compare { return nil }
        if case .longText(let text) = inRow {
            let beginning = String(decoding: text.beginning, as: UTF8.self)
            return selector.key(beginning) + [0xff] + text.blob.hash
        }
        return text.map(selector.key)
    }

    /// The value as a section name: whole numbers without decimal point or exponent (below 2^127),
    /// dates in seconds.
    package var sectionName: String {
        switch self {
        case .null, .data, .blob, .reference: ""
        case .bool(let value): value ? "1" : "0"
        case .int(let value): String(value)
        case .double(let value), .date(let value):
            value.wholeNumber ?? value.description
        case .decimal(let value): value.description
        case .string(let value), .url(let value): value
        case .longText(let value): value.name
        case .uuid(let value): value.uuidString
        }
    }
}

extension SortComponent.Selector {
    /// Returns the bytes by which a text is sorted with this selector.
    fileprivate func key(_ text: String) -> [UInt8] {
        switch self {
        case .compare: Array(text.utf8)
        case .caseInsensitiveCompare: TextFolding.caseFolded(text)
        case .naturalCompare: NaturalOrder.key(text)
        }
    }
}

extension Double {
    fileprivate var wholeNumber: String? { Int128(exactly: self).map { String($0) } }
}

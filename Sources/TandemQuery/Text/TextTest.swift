import TandemModel

/// A comparison with a constant text, evaluated on UTF-8 bytes without decoding.
struct TextTest: Sendable {
    let op: Comparison.Operator
    let options: ComparisonOptions
    /// The folded text.
    let needle: [UInt8]
    /// The text as a pattern, for `LIKE`.
    let pattern: LikePattern?

    init(_ op: Comparison.Operator, _ options: ComparisonOptions, _ text: String) {
        self.op = op
        self.options = options
        needle = TextFolding.fold(text, options)
        pattern = op == .like ? LikePattern(needle) : nil
    }

    func holds(_ text: String) -> Bool {
        var copy = text
        return copy.withUTF8 { holds(utf8: UnsafeRawBufferPointer($0)) }
    }

    func holds(utf8 bytes: UnsafeRawBufferPointer) -> Bool {
        if options.isEmpty { return test(bytes) }
        return TextFolding.fold(utf8: bytes, options).withUnsafeBytes(test)
    }

    /// Returns the result for a text whose first bytes are known; nil if these are not sufficient.
    func holds(_ text: TextReference) -> Bool? {
        guard options.isEmpty else { return nil }
        let beginning = text.beginning
        let isSplit = !beginning.elementsEqual(needle.prefix(beginning.count))
        switch op {
        case .equal: return isSplit || needle.count != text.length ? false : nil
        case .notEqual: return isSplit || needle.count != text.length ? true : nil
        case .beginsWith where isSplit: return beginning.starts(with: needle)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            return isSplit ? beginning.withUnsafeBytes(test) : nil
        default: return nil
        }
    }

    private func test(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch op {
        case .equal: bytes.elementsEqual(needle)
        case .notEqual: !bytes.elementsEqual(needle)
        case .less: compare(bytes) < 0
        case .lessOrEqual: compare(bytes) <= 0
        case .greater: compare(bytes) > 0
        case .greaterOrEqual: compare(bytes) >= 0
        case .beginsWith: bytes.starts(with: needle)
        case .endsWith: bytes.reversed().starts(with: needle.reversed())
        case .contains: contains(bytes)
        case .like: pattern?.matches(bytes) ?? false
        case .between, .in: false
        }
    }

    private func compare(_ bytes: UnsafeRawBufferPointer) -> Int {
        ValueOrder.compare(bytes: bytes, needle)
    }

    /// The minimum length of a needle for which the linear-time search is used.
    private static let longNeedle = 32

    private func contains(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = needle.first else { return true }
        guard bytes.count >= needle.count else { return false }
        if bytes.count > BlobReference.inlineLimit || needle.count > Self.longNeedle {
            return TextSearch.end(of: needle, in: bytes) != nil
        }
        for start in 0...(bytes.count - needle.count) where bytes[start] == first {
            if bytes[start...].starts(with: needle) { return true }
        }
        return false
    }
}

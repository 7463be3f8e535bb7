public import TandemModel

/// What derived attributes of the kind ``TandemModel/Derivation/folded(_:)`` hold.
///
/// It is what comparisons with `[cd]` go by: two texts are equal under them where their folded texts are equal.
extension CompiledDerivation {
    /// The folded form of a value of the source, null of null; the content of a long text is asked for, and null where it can't be had.
    ///
    /// The result is whole, however long it is. Cost: as ``TextFolding``.
    public static func folded<Failure: Error>(
        _ value: Value, content: (BlobReference) throws(Failure) -> [UInt8]?
    ) throws(Failure) -> Value {
        switch value {
        case .string(let text): return .string(TextFolding.foldedText(text))
        case .longText(let reference):
            guard let bytes = try content(reference.blob) else { return .null }
            return .string(TextFolding.foldedText(String(decoding: bytes, as: UTF8.self)))
        default: return .null
        }
    }

    /// The folded form of a value that is held whole.
    public static func folded(_ value: Value) -> Value {
        folded(value) { (_) -> [UInt8]? in nil }
    }
}

extension TextFolding {
    /// The text without diacritics and differences of case, as a text.
    public static func foldedText(_ text: String) -> String {
        String(decoding: folded(text), as: UTF8.self)
    }
}

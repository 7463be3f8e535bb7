package import TandemModel

/// The values of derived attributes of the kind ``TandemModel/Derivation/folded(_:)``.
///
/// Comparisons with `[cd]` use the same folding: two texts are equal under `[cd]` if their folded
/// texts are equal.
extension CompiledDerivation {
    /// Returns the folded form of the source's value, or null if the source is null.
    ///
    /// `content` returns the content of a long text; if it returns nil, the result is null. The
    /// result is never a reference, however long the text is. Cost: the same as that of
    /// ``TextFolding``.
    package static func folded<Failure: Error>(
        _ value: PropertyValue, content: (BlobReference) throws(Failure) -> [UInt8]?
    ) throws(Failure) -> PropertyValue {
        switch value {
        case .string(let text): return .string(TextFolding.foldedText(text))
        case .longText(let reference):
            guard let bytes = try content(reference.blob) else { return .null }
            return .string(TextFolding.foldedText(String(decoding: bytes, as: UTF8.self)))
        default: return .null
        }
    }

    /// Returns the folded form of a value that is stored in its row.
    package static func folded(_ value: PropertyValue) -> PropertyValue {
        folded(value) { (_) -> [UInt8]? in nil }
    }
}

extension TextFolding {
    /// Returns the case-folded text without diacritics, as a string.
    package static func foldedText(_ text: String) -> String {
        String(decoding: folded(text), as: UTF8.self)
    }
}

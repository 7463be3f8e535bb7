@_spi(_Unicode) import Swift

/// Folding of text for comparisons that ignore case or diacritics.
///
/// Case folding is Unicode's full case folding, which does not depend on the locale. Diacritics are
/// removed by dropping nonspacing marks after canonical decomposition. The results are UTF-8 bytes,
/// to be compared byte by byte. Cost: about a nanosecond per ASCII character, up to a hundred
/// nanoseconds per other character.
@usableFromInline package enum TextFolding {
    /// Returns the case-folded text.
    @usableFromInline
    package static func caseFolded(_ text: String) -> [UInt8] { fold(text, .caseInsensitive) }

    /// Returns the text without diacritics.
    package static func diacriticFolded(_ text: String) -> [UInt8] {
        fold(text, .diacriticInsensitive)
    }

    /// Returns the case-folded text without diacritics.
    @usableFromInline package static func folded(_ text: String) -> [UInt8] {
        fold(text, [.caseInsensitive, .diacriticInsensitive])
    }

    /// Returns the case-folded UTF-8 of a text.
    package static func caseFolded(utf8 bytes: UnsafeRawBufferPointer) -> [UInt8] {
        fold(utf8: bytes, .caseInsensitive)
    }

    /// Returns the text folded according to a comparison's options.
    static func fold(_ text: String, _ options: ComparisonOptions) -> [UInt8] {
        var copy = text
        return copy.withUTF8 { fold(utf8: UnsafeRawBufferPointer($0), options) }
    }

    static func fold(
        utf8 bytes: UnsafeRawBufferPointer, _ options: ComparisonOptions
    ) -> [UInt8] {
        guard !options.isEmpty else { return Array(bytes) }
        if bytes.allSatisfy({ $0 < 0x80 }) {
            return options.contains(.caseInsensitive) ? bytes.map(lowercased) : Array(bytes)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 8)
        if options.contains(.diacriticInsensitive) {
            for scalar in text._nfd where scalar.properties.generalCategory != .nonspacingMark {
                append(scalar, options, &result)
            }
        } else {
            for scalar in text.unicodeScalars { append(scalar, options, &result) }
        }
        return result
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
    }

    private static func append(
        _ scalar: Unicode.Scalar, _ options: ComparisonOptions, _ result: inout [UInt8]
    ) {
        guard options.contains(.caseInsensitive) else {
            return result.append(
                contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
        if scalar.isASCII { return result.append(lowercased(UInt8(scalar.value))) }
        appendFolding(of: scalar, &result)
    }

    /// Appends the full case folding of a scalar.
    ///
    /// The folding of a scalar is the lower case of its upper-case mapping, except for the scalars
    /// below.
    private static func appendFolding(of scalar: Unicode.Scalar, _ result: inout [UInt8]) {
        switch scalar.value {
        case 0x131:  // Dotless i folds to itself.
            result.append(contentsOf: String(scalar).utf8)
        case 0x1e9e:  // Capital sharp s.
            result.append(contentsOf: "ss".utf8)
        case 0x13a0...0x13fd, 0xab70...0xabbf:  // Cherokee folds to upper case.
            result.append(contentsOf: scalar.properties.uppercaseMapping.utf8)
        default:
            for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                result.append(contentsOf: upper.properties.lowercaseMapping.utf8)
            }
        }
    }
}

/// The rule for displaying untrusted text: names, values, paths, and messages that contain them.
///
/// The rule prevents a client that is allowed to save from moving the cursor of a reader's
/// terminal, forging a line, changing the direction of text, or hiding text.
extension Unicode.Scalar {
    /// Whether a terminal can show the scalar safely.
    ///
    /// The value is false for control characters (C0, DEL, C1), line and paragraph separators,
    /// marks that change the direction of text, and invisible characters. Joiners and variation
    /// selectors are printable, because scripts and emoji need them. Tags are not, because they can
    /// encode any hidden text, although the flags of England, Scotland and Wales use them.
    package var isPrintable: Bool {
        switch value {
        case 0x20..<0x7f: true
        case ..<0xa0: false
        case 0xad, 0x34f, 0x61c, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180e, 0x3164, 0xfeff, 0xffa0:
            false
        case 0x200b, 0x200e, 0x200f, 0x2028...0x202e, 0x2060...0x206f: false
        case 0xfff0...0xfffb, 0x1bca0...0x1bca3, 0x1d173...0x1d17a, 0xe0000...0xe0fff: false
        default: true
        }
    }

    /// The scalar as an escape such as `\u{9b}`.
    package var hexEscape: String { "\\u{\(String(value, radix: 16))}" }
}

extension String {
    /// The text with U+FFFD for every scalar that is not printable, line feeds included.
    ///
    /// See ``Swift/Unicode/Scalar/isPrintable``.
    package var printable: String {
        guard !isPrintable else { return self }
        return String(
            String.UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "\u{fffd}" }))
    }

    /// Whether all scalars are printable.
    package var isPrintable: Bool {
        utf8.allSatisfy { (0x20..<0x7f).contains($0) } || unicodeScalars.allSatisfy(\.isPrintable)
    }
}

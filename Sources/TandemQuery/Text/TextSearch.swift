/// A search for a text in a long text, in linear time (Knuth, Morris, Pratt).
///
/// A client therefore can't block the daemon with a text of several megabytes and a maliciously
/// chosen needle.
enum TextSearch {
    /// Returns the offset after the first occurrence of a non-empty needle; nil if there is none.
    static func end(of needle: [UInt8], in text: UnsafeRawBufferPointer) -> Int? {
        let borders = borders(of: needle)
        var matched = 0
        for (at, byte) in text.enumerated() {
            while matched > 0, needle[matched] != byte { matched = borders[matched - 1] }
            if needle[matched] == byte { matched += 1 }
            if matched == needle.count { return at + 1 }
        }
        return nil
    }

    /// Returns, for each prefix of the needle, the length of its longest proper border.
    private static func borders(of needle: [UInt8]) -> [Int] {
        var borders = [Int](repeating: 0, count: needle.count)
        var length = 0
        for index in needle.indices.dropFirst() {
            while length > 0, needle[length] != needle[index] { length = borders[length - 1] }
            if needle[length] == needle[index] { length += 1 }
            borders[index] = length
        }
        return borders
    }
}

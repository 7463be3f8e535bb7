/// Finds one text in another that is long, in a time that grows with their lengths and not with their product (Knuth, Morris, Pratt).
///
/// So nobody can keep the daemon busy for long with a text of megabytes and a part of it chosen for that.
enum TextSearch {
    /// The place behind the first occurrence of a needle, which is not empty; nil if there is none.
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

    /// For each beginning of the needle how long the longest one is that it also ends with.
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

import FoundationEssentials

/// A target's inputs in one file: one line of base64 each, sorted, so that a diff shows the added
/// inputs.
public enum Corpus {
    /// Returns the inputs in a file's text; lines that are not base64 are ignored.
    public static func inputs(of text: String) -> [[UInt8]] {
        text.split(separator: "\n").compactMap { Data(base64Encoded: String($0)).map(Array.init) }
    }

    /// Returns the text of a file with the given inputs.
    public static func text(of inputs: some Sequence<[UInt8]>) -> String {
        Set(inputs.map { Data($0).base64EncodedString() }).sorted().map { $0 + "\n" }.joined()
    }
}

import FoundationEssentials

/// A target's inputs in one file: a line of base64 each, sorted, so that a change shows what came.
public enum Corpus {
    /// The inputs of a file's text; lines that are no base64 are left out.
    public static func inputs(of text: String) -> [[UInt8]] {
        text.split(separator: "\n").compactMap { Data(base64Encoded: String($0)).map(Array.init) }
    }

    /// The text of a file that holds inputs.
    public static func text(of inputs: some Sequence<[UInt8]>) -> String {
        Set(inputs.map { Data($0).base64EncodedString() }).sorted().map { $0 + "\n" }.joined()
    }
}

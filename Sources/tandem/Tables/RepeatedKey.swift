import Tandem

/// Finds a key that occurs twice in a JSON object, which the JSON parser does not reject.
struct RepeatedKey {
    private var bytes: [UInt8]
    private var place = 0

    /// Returns the first repeated key in valid JSON, or nil if there is none.
    static func find(in text: String) -> String? {
        var search = RepeatedKey(bytes: Array(text.utf8))
        return search.run()
    }

    /// Searches the text: a string before a colon is a key, and each open object has its own keys.
    private mutating func run() -> String? {
        var open: [Set<String>] = []
        while place < bytes.count {
            let byte = bytes[place]
            place += 1
            switch byte {
            case UInt8(ascii: "{"): open.append([])
            case UInt8(ascii: "}"): _ = open.popLast()
            case UInt8(ascii: "\""):
                let text = text()
                guard isKey, !open.isEmpty else { continue }
                if !open[open.count - 1].insert(text).inserted { return text }
            default: break
            }
        }
        return nil
    }

    /// Reads the string whose opening quote was just passed.
    private mutating func text() -> String {
        let start = place - 1
        while place < bytes.count, bytes[place] != UInt8(ascii: "\"") {
            place += bytes[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        place = min(place + 1, bytes.count)
        let text = String(decoding: bytes[start..<place], as: UTF8.self)
        // Different escapes can denote the same key.
        return (try? JSON(parsing: text))?.string ?? text
    }

    private var isKey: Bool {
        let next = bytes[place...].first { !" \n\r\t".utf8.contains($0) }
        return next == UInt8(ascii: ":")
    }
}

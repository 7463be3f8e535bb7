import FoundationEssentials
import Tandem

/// The id of a request, as the JSON text that its answer repeats.
///
/// A number keeps its spelling, because JSON numbers can exceed the range of Swift's types.
struct RequestID {
    /// The JSON text.
    let text: String

    /// The id in answers to requests without a readable id.
    static let none = RequestID(text: "null")

    /// Whether there is no id.
    var isNone: Bool { text == "null" }

    /// Creates the id of a parsed line; nil if the id is missing, an array or an object.
    init?(_ id: JSON?, in line: Data) {
        switch id {
        case nil, .array?, .object?: return nil
        case .double?: text = Self.number(in: line) ?? id?.text ?? "null"
        case let id?: text = id.text
        }
    }

    private init(text: String) { self.text = text }

    /// Returns the id of a line that can't be parsed completely.
    ///
    /// Returns ``none`` if the line is not a JSON object or has no id.
    static func of(_ line: Data) -> RequestID {
        guard let decoded = try? JSONDecoder().decode(IDOnly.self, from: line) else { return .none }
        guard let id = decoded.id else {
            return number(in: line).map(RequestID.init(text:)) ?? .none
        }
        return RequestID(id, in: line) ?? .none
    }

    /// Decodes only the id of a JSON object; `id` is nil if it is a number out of range.
    private struct IDOnly: Decodable {
        var id: JSON?

        private enum Keys: CodingKey { case id }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Keys.self)
            guard members.contains(.id) else {
                id = .null
                return
            }
            id = try? members.decode(JSON.self, forKey: .id)
        }
    }

    // MARK: Numbers

    /// Returns the number of the key `id` in the outermost object, exactly as it was written.
    private static func number(in line: Data) -> String? {
        var (depth, place) = (0, line.startIndex)
        while place < line.endIndex {
            switch line[place] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: "\""):
                let end = endOfString(line, from: place)
                let isID = depth == 1 && line[place..<end].elementsEqual("\"id\"".utf8)
                place = end
                if isID, let number = number(after: end, in: line) { return number }
                continue
            default: break
            }
            place += 1
        }
        return nil
    }

    private static func endOfString(_ line: Data, from start: Data.Index) -> Data.Index {
        var place = start + 1
        while place < line.endIndex, line[place] != UInt8(ascii: "\"") {
            place += line[place] == UInt8(ascii: "\\") ? 2 : 1
        }
        return min(place + 1, line.endIndex)
    }

    /// Returns the number that follows a colon, or nil if there is none.
    private static func number(after end: Data.Index, in line: Data) -> String? {
        let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
        let rest = line[end...].drop(while: isSpace)
        guard rest.first == UInt8(ascii: ":") else { return nil }
        let number = rest.dropFirst().drop(while: isSpace)
            .prefix { "+-.0123456789eE".utf8.contains($0) }
        return number.isEmpty ? nil : String(decoding: number, as: UTF8.self)
    }
}

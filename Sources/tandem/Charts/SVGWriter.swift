/// Writes SVG elements with their attributes, and escapes their text.
struct SVGWriter {
    /// The SVG source written so far.
    private(set) var text = ""
    private var open: [String] = []

    /// The value of an attribute: a string, or a number with at most one decimal place.
    enum Attribute: ExpressibleByStringLiteral, ExpressibleByFloatLiteral,
        ExpressibleByIntegerLiteral, ExpressibleByStringInterpolation
    {
        case text(String)
        case number(Double)

        init(stringLiteral value: String) { self = .text(value) }
        init(floatLiteral value: Double) { self = .number(value) }
        init(integerLiteral value: Int) { self = .number(Double(value)) }

        fileprivate var text: String {
            switch self {
            case .text(let text): SVGWriter.escaped(text)
            case .number(let number): SVGWriter.number(number)
            }
        }
    }

    typealias Attributes = KeyValuePairs<String, Attribute>

    /// Begins an element that contains other elements.
    mutating func begin(_ name: String, _ attributes: Attributes = [:]) {
        text += "<\(name)\(Self.written(attributes))>\n"
        open.append(name)
    }

    /// Ends the most recently begun element.
    mutating func end() {
        guard let name = open.popLast() else { return }
        text += "</\(name)>\n"
    }

    /// Writes an element that contains text or is empty.
    mutating func element(_ name: String, _ attributes: Attributes = [:], _ content: String = "") {
        let head = "<\(name)\(Self.written(attributes))"
        text += content.isEmpty ? head + "/>\n" : head + ">\(Self.escaped(content))</\(name)>\n"
    }

    /// Writes a style sheet, which must not contain `<` or `&`.
    mutating func style(_ lines: String) { text += "<style>\n\(lines)\n</style>\n" }

    private static func written(_ attributes: Attributes) -> String {
        attributes.map { " \($0.key)=\"\($0.value.text)\"" }.joined()
    }

    /// Returns a number with at most one decimal place; a tenth of a pixel is accurate enough.
    static func number(_ value: Double) -> String {
        let tenths = (value * 10).rounded() / 10
        return Int(exactly: tenths).map { String($0) } ?? "\(tenths)"
    }

    /// Returns a string escaped for XML, without characters that XML forbids or that would control
    /// a terminal.
    static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\t", "\n": escaped += " "
            case _ where !scalar.isPrintable || [0xfffe, 0xffff].contains(scalar.value): break
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

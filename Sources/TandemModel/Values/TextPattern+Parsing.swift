/// A syntax error in a pattern.
package struct PatternError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A description of the problem, as a sentence.
    package var message: String
    /// The number of the character at which the problem was found, counting from 1; nil if the
    /// error concerns the whole pattern.
    package var place: Int?

    /// The error, such as `at character 4: …`.
    package var description: String { place.map { "at character \($0): \(message)" } ?? message }
}

/// A node of a pattern's syntax tree.
indirect enum PatternNode {
    case one(ScalarSet)
    case beginning, end
    case sequence([PatternNode])
    case choice([PatternNode])
    case repetition(PatternNode, Int, Int?)
}

/// A parser of patterns.
struct PatternParser {
    private static let depthLimit = 30
    private static let repetitionLimit = 1_000
    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var depth = 0

    init(_ text: String) {
        scalars = Array(text.unicodeScalars.prefix(TextPattern.lengthLimit + 1))
    }

    mutating func parse() throws(PatternError) -> PatternNode {
        guard scalars.count <= TextPattern.lengthLimit else {
            throw PatternError(
                message: "the pattern has more than \(TextPattern.lengthLimit) characters")
        }
        let node = try choice()
        guard peek == nil else { throw error("no group is open here; write \\)") }
        return node
    }

    private var peek: Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
        guard peek == scalar else { return false }
        index += 1
        return true
    }

    private func error(_ message: String, back: Int = 0) -> PatternError {
        PatternError(message: message, place: index - back + 1)
    }

    // MARK: Structure

    private mutating func choice() throws(PatternError) -> PatternNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthLimit else {
            throw error("groups are nested more than \(Self.depthLimit) deep")
        }
        var branches = [try sequence()]
        while consume("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence() throws(PatternError) -> PatternNode {
        var nodes: [PatternNode] = []
        while let scalar = peek, scalar != "|", scalar != ")" {
            nodes.append(try repetition(of: try item()))
        }
        return .sequence(nodes)
    }

    private mutating func item() throws(PatternError) -> PatternNode {
        guard let scalar = peek else { throw error("the pattern ends too early") }
        index += 1
        switch scalar {
        case "(": return try group()
        case "[": return .one(try set())
        case "\\": return .one(try escape())
        case "^": return .beginning
        case "$": return .end
        case ".":
            var set = ScalarSet("\n")
            set.isInverted = true
            return .one(set)
        case "*", "+", "?", "{":
            throw error("there is nothing to repeat; write \\\(scalar)", back: 1)
        default: return .one(ScalarSet(scalar))
        }
    }

    private mutating func group() throws(PatternError) -> PatternNode {
        if consume("?"), !consume(":") {
            throw error("only (?:…) is supported of the groups with ?")
        }
        let node = try choice()
        guard consume(")") else { throw error("a closing ) is missing") }
        return node
    }

    private mutating func repetition(of node: PatternNode) throws(PatternError) -> PatternNode {
        let range: (Int, Int?)
        switch peek {
        case "*": range = (0, nil)
        case "+": range = (1, nil)
        case "?": range = (0, 1)
        case "{": range = try counts()
        default: return node
        }
        index += 1
        // Greedy and lazy repetitions match the same whole texts.
        _ = consume("?")
        if let next = peek, "*+?{".unicodeScalars.contains(next) {
            throw error("a repetition cannot be repeated; use a group")
        }
        return .repetition(node, range.0, range.1)
    }

    /// Reads `{2}`, `{2,}` or `{2,4}` up to the closing brace.
    private mutating func counts() throws(PatternError) -> (Int, Int?) {
        index += 1
        let least = try number()
        var most: Int? = least
        if consume(",") { most = peek == "}" ? nil : try number() }
        guard peek == "}" else { throw error("expected a count: {2}, {2,} or {2,4}") }
        guard least <= most ?? least else {
            throw error("the first count is larger than the second")
        }
        return (least, most)
    }

    private mutating func number() throws(PatternError) -> Int {
        var number: Int?
        while let digit = peek.flatMap({ Int(String($0)) }) {
            index += 1
            number = (number ?? 0) * 10 + digit
            if number ?? 0 > Self.repetitionLimit {
                throw error("the maximum count is \(Self.repetitionLimit)")
            }
        }
        guard let number else { throw error("expected a count: {2}, {2,} or {2,4}") }
        return number
    }

    // MARK: Characters

    private mutating func escape() throws(PatternError) -> ScalarSet {
        guard let scalar = peek else { throw error("expected a character after the backslash") }
        index += 1
        if let set = ScalarSet(class: scalar) { return set }
        switch scalar {
        case "n": return ScalarSet("\n")
        case "r": return ScalarSet("\r")
        case "t": return ScalarSet("\t")
        default:
            guard scalar.isASCII, !ScalarSet.word.contains(scalar) else {
                throw error("\\\(scalar) is not supported", back: 2)
            }
            return ScalarSet(scalar)
        }
    }

    /// Reads a set up to and including its closing bracket.
    private mutating func set() throws(PatternError) -> ScalarSet {
        let isInverted = consume("^")
        var set = ScalarSet()
        repeat {
            let low = try member()
            // A hyphen at the beginning or the end is an ordinary character.
            guard peek == "-", index + 1 < scalars.count, scalars[index + 1] != "]" else {
                set.ranges += low.ranges
                continue
            }
            index += 1
            let high = try member()
            guard let from = low.single, let to = high.single, from <= to else {
                throw error("a range must be from a character to a later one", back: 1)
            }
            set.ranges.append(from...to)
        } while peek != "]"
        index += 1
        set.isInverted = isInverted
        return set
    }

    /// Reads one character or escape of a set.
    private mutating func member() throws(PatternError) -> ScalarSet {
        guard let scalar = peek else { throw error("a closing ] is missing") }
        index += 1
        guard scalar == "\\" else {
            if scalar == "[" { throw error("a set in a set is not supported; write \\[", back: 1) }
            return ScalarSet(scalar)
        }
        let set = try escape()
        guard !set.isInverted else {
            throw error("\\D, \\W and \\S are not supported in a set", back: 2)
        }
        return set
    }
}

extension ScalarSet {
    /// Letters, digits and `_`.
    fileprivate static let word = ScalarSet(class: "w") ?? ScalarSet()

    /// The number of the only character; nil unless the set has exactly one.
    fileprivate var single: UInt32? {
        guard ranges.count == 1, ranges[0].lowerBound == ranges[0].upperBound else { return nil }
        return ranges[0].lowerBound
    }
}

/// A regular expression that matches whole texts in linear time.
///
/// Matching is by Unicode scalar. A pattern consists of
/// - characters: literal ones, `.` (any but a line feed), `[a-z]`, `[^a-z]`, `\d \w \s \D \W \S`
///   (of ASCII), `\n \r \t`, and a backslash before a punctuation mark;
/// - operators: groups `(…)` and `(?:…)`, `|`, `* + ? {2} {2,} {2,4}`, `^` and `$`.
///
/// Other syntax (lookaround, backreferences, `\b`, `\p`) is rejected with an error that names it.
///
///     let pattern = try TextPattern("[A-Z]{3}-\\d+")
///     pattern.matches("CMR-9")    // true
package struct TextPattern: Hashable, Sendable {
    /// The maximum number of characters of a pattern.
    package static let lengthLimit = 1_000
    /// The maximum number of instructions of a pattern, with all repetitions unrolled.
    package static let sizeLimit = 2_000
    /// The maximum number of steps for matching a text, which take tens of milliseconds.
    package static let stepLimit = 4_000_000

    enum Instruction: Hashable, Sendable {
        case one(ScalarSet)
        /// Continues at both instructions.
        case fork(Int, Int)
        case jump(Int)
        case beginning, end, match
    }

    /// The source text of the pattern.
    package let text: String
    private let program: [Instruction]

    /// Parses a pattern; the error contains the problem and the number of the character.
    package init(_ text: String) throws(PatternError) {
        self.text = text
        var parser = PatternParser(text)
        var builder = PatternBuilder()
        try builder.add(try parser.parse())
        program = builder.program + [.match]
    }

    /// Returns whether the whole text matches; nil if matching took more than ``stepLimit`` steps.
    ///
    /// Cost: at most the number of characters of the text times the size of the pattern.
    package func matches(_ text: String) -> Bool? { matches(text, steps: Self.stepLimit) }

    func matches(_ text: String, steps limit: Int) -> Bool? {
        var scalars = text.unicodeScalars.makeIterator()
        var next = scalars.next()
        var threads = Threads(program)
        var steps = 0
        steps += threads.go(from: 0, isBeginning: true, isEnd: next == nil)
        while let scalar = next {
            next = scalars.next()
            let places = threads.drain()
            if places.isEmpty { return false }
            for place in places {
                guard case .one(let set) = program[place] else { continue }
                steps += 1 + set.ranges.count
                guard set.contains(scalar) else { continue }
                steps += threads.go(from: place + 1, isBeginning: false, isEnd: next == nil)
            }
            if steps > limit { return nil }
        }
        return threads.hasMatched
    }

    /// The instructions that are active at one character of the text.
    private struct Threads {
        let program: [Instruction]
        private(set) var hasMatched = false
        private var places: [Int] = []
        private var waiting: [Int] = []
        /// The round in which each instruction was last reached.
        private var reached: [Int]
        private var round = 1

        init(_ program: [Instruction]) {
            self.program = program
            reached = Array(repeating: 0, count: program.count)
        }

        /// Returns the instructions that wait for a character, and begins a new round.
        mutating func drain() -> [Int] {
            round += 1
            hasMatched = false
            let taken = places
            places = []
            return taken
        }

        /// Follows all instructions that consume no character, and returns the number of steps.
        mutating func go(from place: Int, isBeginning: Bool, isEnd: Bool) -> Int {
            var steps = 0
            waiting.append(place)
            while let place = waiting.popLast() {
                steps += 1
                guard reached[place] != round else { continue }
                reached[place] = round
                switch program[place] {
                case .one: places.append(place)
                case .fork(let one, let other):
                    waiting.append(other)
                    waiting.append(one)
                case .jump(let target): waiting.append(target)
                case .beginning: if isBeginning { waiting.append(place + 1) }
                case .end: if isEnd { waiting.append(place + 1) }
                case .match: hasMatched = true
                }
            }
            return steps
        }
    }
}

/// A set of characters: those in some ranges, or all others.
struct ScalarSet: Hashable, Sendable {
    var ranges: [ClosedRange<UInt32>] = []
    var isInverted = false

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        ranges.contains { $0.contains(scalar.value) } != isInverted
    }

    mutating func insert(_ low: Unicode.Scalar, _ high: Unicode.Scalar) {
        ranges.append(low.value...high.value)
    }

    init() {}

    init(_ scalar: Unicode.Scalar) { insert(scalar, scalar) }

    /// Creates the set for an escape such as `\d`; returns nil if the letter is not a known escape.
    init?(class name: Unicode.Scalar) {
        switch name {
        case "d", "D": insert("0", "9")
        case "w", "W":
            for (low, high) in [("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z")]
                as [(Unicode.Scalar, Unicode.Scalar)]
            {
                insert(low, high)
            }
        case "s", "S":
            insert("\t", "\r")
            insert(" ", " ")
        default: return nil
        }
        isInverted = ["D", "W", "S"].contains(name)
    }
}

/// A compiler of patterns to programs, with all repetitions unrolled.
private struct PatternBuilder {
    var program: [TextPattern.Instruction] = []
    /// The number of visited nodes, including those without instructions.
    private var work = 0

    mutating func add(_ node: PatternNode) throws(PatternError) {
        work += 1
        guard work <= 4 * TextPattern.sizeLimit, program.count < TextPattern.sizeLimit else {
            throw PatternError(
                message: "the pattern is too large: its repetitions have more than "
                    + "\(TextPattern.sizeLimit) steps")
        }
        switch node {
        case .one(let set): program.append(.one(set))
        case .beginning: program.append(.beginning)
        case .end: program.append(.end)
        case .sequence(let nodes): for node in nodes { try add(node) }
        case .choice(let nodes): try choose(nodes[...])
        case .repetition(let node, let least, let most): try repeated(node, least, most)
        }
    }

    private mutating func choose(_ nodes: ArraySlice<PatternNode>) throws(PatternError) {
        var ends: [Int] = []
        for node in nodes.dropLast() {
            let fork = program.count
            program.append(.jump(0))
            try add(node)
            ends.append(program.count)
            program.append(.jump(0))
            program[fork] = .fork(fork + 1, program.count)
        }
        if let last = nodes.last { try add(last) }
        for end in ends { program[end] = .jump(program.count) }
    }

    private mutating func repeated(
        _ node: PatternNode, _ least: Int, _ most: Int?
    ) throws(PatternError) {
        for _ in 0..<least { try add(node) }
        guard let most else {
            let fork = program.count
            program.append(.jump(0))
            try add(node)
            program.append(.jump(fork))
            program[fork] = .fork(fork + 1, program.count)
            return
        }
        var forks: [Int] = []
        for _ in least..<max(least, most) {
            forks.append(program.count)
            program.append(.jump(0))
            try add(node)
        }
        for fork in forks { program[fork] = .fork(fork + 1, program.count) }
    }
}

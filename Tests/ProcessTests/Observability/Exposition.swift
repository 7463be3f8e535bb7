import Testing

/// A parser of Prometheus' text format 0.0.4 that is at least as strict as Prometheus.
struct Exposition {
    struct Sample {
        var name: String
        var labels: [String: String]
        var value: Double
    }

    struct Family {
        var type: String
        var help: String
        var samples: [Sample] = []
    }

    struct Malformed: Error {
        var line: String
        var reason: String
    }

    private(set) var families: [String: Family] = [:]
    private var current = ""

    /// Parses a complete text, and checks names, types, order and histograms; throws ``Malformed``.
    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Malformed(line: "", reason: "no last newline") }
        var help: (name: String, text: String)?
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            let line = String(line)
            if line.hasPrefix("# HELP ") {
                let words = line.dropFirst(7).split(separator: " ", maxSplits: 1)
                guard help == nil, words.count == 2 else {
                    throw Malformed(line: line, reason: "help")
                }
                help = (String(words[0]), String(words[1]))
            } else if line.hasPrefix("# TYPE ") {
                try begin(line, &help)
            } else {
                try add(line)
            }
        }
        for (name, family) in families where family.type == "histogram" {
            try Self.check(name, family)
        }
    }

    /// Returns the value of the sample with this name and these labels, or nil if there is none.
    func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
        families.values.flatMap(\.samples).first { $0.name == name && $0.labels == labels }?.value
    }

    private mutating func begin(_ line: String, _ help: inout (name: String, text: String)?) throws
    {
        let words = line.dropFirst(7).split(separator: " ").map(String.init)
        guard words.count == 2, ["counter", "gauge", "histogram"].contains(words[1]) else {
            throw Malformed(line: line, reason: "type")
        }
        guard let told = help, told.name == words[0], Self.isName(words[0], colons: true) else {
            throw Malformed(line: line, reason: "its help must come right before")
        }
        guard families[words[0]] == nil else { throw Malformed(line: line, reason: "twice") }
        guard (words[1] == "counter") == words[0].hasSuffix("_total") else {
            throw Malformed(line: line, reason: "counters end in _total, others do not")
        }
        families[words[0]] = Family(type: words[1], help: told.text)
        (current, help) = (words[0], nil)
    }

    private mutating func add(_ line: String) throws {
        var rest = Array(line)[...]
        let name = String(rest.prefix { $0 != "{" && $0 != " " })
        rest = rest.dropFirst(name.count)
        let labels = try Self.labels(&rest, line)
        guard rest.first == " ", let value = Double(String(rest.dropFirst())), value >= 0 else {
            throw Malformed(line: line, reason: "value")
        }
        guard let family = families[current] else {
            throw Malformed(line: line, reason: "no family")
        }
        let suffixes = family.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
        guard suffixes.contains(where: { name == current + $0 }) else {
            throw Malformed(line: line, reason: "not of the family \(current)")
        }
        let isTwice = family.samples.contains { $0.name == name && $0.labels == labels }
        guard !isTwice else { throw Malformed(line: line, reason: "twice") }
        families[current]?.samples.append(Sample(name: name, labels: labels, value: value))
    }

    private static func labels(
        _ rest: inout ArraySlice<Character>, _ line: String
    ) throws -> [String: String] {
        guard rest.first == "{" else { return [:] }
        var labels: [String: String] = [:]
        repeat {
            rest.removeFirst()
            let name = String(rest.prefix { $0 != "=" })
            rest = rest.dropFirst(name.count)
            guard isName(name, colons: false), rest.starts(with: ["=", "\""]) else {
                throw Malformed(line: line, reason: "label \(name)")
            }
            rest = rest.dropFirst(2)
            var value = ""
            while let character = rest.popFirst(), character != "\"" {
                guard character == "\\" else {
                    value.append(character)
                    continue
                }
                switch rest.popFirst() {
                case "n": value.append("\n")
                case "\\": value.append("\\")
                case "\"": value.append("\"")
                default: throw Malformed(line: line, reason: "escape")
                }
            }
            guard labels.updateValue(value, forKey: name) == nil else {
                throw Malformed(line: line, reason: "label twice")
            }
        } while rest.first == ","
        guard rest.popFirst() == "}" else { throw Malformed(line: line, reason: "no }") }
        return labels
    }

    private static func isName(_ name: String, colons: Bool) -> Bool {
        guard let first = name.utf8.first, !(48...57).contains(first) else { return false }
        return name.utf8.allSatisfy {
            (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
                || (colons && $0 == 58)
        }
    }

    /// Checks that bounds rise, that counts don't fall, and that the last bucket is +Inf with the
    /// total count.
    private static func check(_ name: String, _ family: Family) throws {
        let buckets = family.samples.filter { $0.name == name + "_bucket" }
        let bounds = buckets.map { Double($0.labels["le"] ?? "") ?? .nan }
        let counts = buckets.map(\.value)
        let count = family.samples.first { $0.name == name + "_count" }?.value
        let isRising =
            zip(bounds, bounds.dropFirst()).allSatisfy { $0 < $1 }
            && zip(counts, counts.dropFirst()).allSatisfy { $0 <= $1 }
        guard isRising, buckets.last?.labels["le"] == "+Inf", counts.last == count, count != nil,
            family.samples.contains(where: { $0.name == name + "_sum" })
        else { throw Malformed(line: name, reason: "buckets \(bounds) \(counts)") }
    }
}

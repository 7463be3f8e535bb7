import TandemJournal
import TandemModel

/// A value given for a key, with its origin.
package struct GivenSetting: Hashable, Sendable {
    /// The name of the key, which may be unknown.
    package var name: String
    /// The value, or the values of a list.
    package var values: [String]
    /// The source of the value: a flag, a variable, or a file and line.
    package var origin: String

    /// Creates a value for a key from a source.
    package init(_ name: String, _ values: [String], from origin: String) {
        self.name = name
        self.values = values
        self.origin = origin
    }
}

/// A configuration assembled from given values, with all problems found in them.
///
///     var assembly = SettingAssembly(DaemonConfiguration(store: "/srv/tandem"))
///     assembly.set(GivenSetting("limits.connections", ["100"], from: "--set"))
///     assembly.finish()
package struct SettingAssembly: Sendable {
    /// The configuration assembled so far.
    package var configuration: DaemonConfiguration
    /// The problems found so far, one sentence each.
    package private(set) var problems: [String] = []
    private let lookup: NameLookup
    /// Whether a retention key was given: the defaults of the three keys apply only together.
    private var hasRetentionSettings = false

    /// Creates an assembly that begins with the defaults in `configuration`.
    package init(_ configuration: DaemonConfiguration, lookup: NameLookup = .system) {
        self.configuration = configuration
        self.lookup = lookup
    }

    /// Adds a problem that isn't caused by a value.
    package mutating func addProblem(_ problem: String) { problems.append(problem) }

    /// Adds a problem for each unknown key, with the most similar known key.
    package mutating func refuseUnknown(_ given: [GivenSetting]) {
        for setting in given where Setting.named(setting.name) == nil {
            let nearest = nearest(to: setting.name, among: Setting.all.map(\.name))
            addProblem(
                "\(setting.origin): there is no key \(setting.name)"
                    + (nearest.map { "; did you mean \($0)?" } ?? "; see tandemd --help"))
        }
    }

    /// Sets a key; an invalid value is added to the problems.
    package mutating func set(_ given: GivenSetting) {
        guard let setting = Setting.named(given.name) else { return refuseUnknown([given]) }
        do throws(Setting.Rejection) {
            if setting.isRetentionSetting, !hasRetentionSettings {
                // A default that applies alongside an explicitly set bound would be surprising.
                configuration.retention = RetentionPolicy()
                hasRetentionSettings = true
            }
            try setting.write(given.values, &configuration, lookup)
            configuration.origins[setting.name] = given.origin
        } catch {
            let value = given.values.joined(separator: ", ")
            addProblem(
                "\(given.origin): \(setting.name) cannot be \"\(value)\": "
                    + (error.reason ?? "expected \(setting.expected)"))
        }
    }

    /// Checks the relations between values.
    package mutating func finish() {
        let retention = configuration.retention
        if let keep = retention.keepBytes, let cap = retention.capBytes, keep > cap {
            addOrderProblem("journal.keepBytes", "journal.capBytes")
        }
        let limits = configuration.limits
        if limits.blobBytes > limits.transactionBytes {
            addOrderProblem("limits.blobBytes", "limits.transactionBytes")
        }
        if limits.frameBytes > limits.inboundBytes {
            addOrderProblem("limits.frameBytes", "limits.inboundBytes")
        }
    }

    private mutating func addOrderProblem(_ small: String, _ large: String) {
        func described(_ name: String) -> String {
            let value = Setting.named(name)?.value(in: configuration) ?? ""
            return "\(name) (\(value), \(configuration.origin(of: name)))"
        }
        addProblem("\(described(small)) is larger than \(described(large))")
    }

    /// One line for each key, with its value and origin.
    package var lines: [String] {
        Setting.all.map { setting in
            let value = setting.value(in: configuration)
            return "\(setting.name) = \(value.isEmpty ? "-" : value)"
                + "  # \(configuration.origin(of: setting.name))"
        }
    }
}

extension Setting {
    /// Whether the key is one of the journal's retention bounds.
    fileprivate var isRetentionSetting: Bool {
        ["journal.keepBytes", "journal.keepSeconds", "journal.capBytes"].contains(name)
    }
}

extension DaemonConfiguration {
    /// Returns the origin of a key, or `default`.
    func origin(of key: String) -> String { origins[key] ?? "default" }

    /// Each key with its value and origin, for `tandem config`.
    var report: JSON {
        .array(
            Setting.all.map { setting in
                .object([
                    "key": .string(setting.name), "value": .string(setting.value(in: self)),
                    "origin": .string(origin(of: setting.name)),
                ])
            })
    }
}

/// Returns the known word that is most similar to a misspelt one, or nil if none is similar.
package func nearest(to word: String, among words: [String]) -> String? {
    let known = words.map { (word: $0, distance: distance(word, $0)) }
    guard let best = known.min(by: { $0.distance < $1.distance }),
        best.distance <= max(2, word.count / 3)
    else { return words.first { $0.hasSuffix("." + word) } }
    return best.word
}

/// Returns the Levenshtein distance of two words, regardless of case.
private func distance(_ one: String, _ other: String) -> Int {
    let (one, other) = (Array(one.lowercased()), Array(other.lowercased()))
    var row = Array(0...other.count)
    for (index, letter) in one.enumerated() {
        var diagonal = row[0]
        row[0] = index + 1
        for column in other.indices {
            let change = diagonal + (other[column] == letter ? 0 : 1)
            diagonal = row[column + 1]
            row[column + 1] = min(change, diagonal + 1, row[column] + 1)
        }
    }
    return row[other.count]
}

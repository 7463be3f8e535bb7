import TandemModel

/// A value for a key, and who said so.
public struct GivenSetting: Hashable, Sendable {
    /// The key's name, known or not.
    public var name: String
    /// One value, or those of a list.
    public var values: [String]
    /// Where it stands: a flag, a variable, or a file with the line.
    public var origin: String

    /// Values for a key from somewhere.
    public init(_ name: String, _ values: [String], from origin: String) {
        self.name = name
        self.values = values
        self.origin = origin
    }
}

/// A configuration that is put together from what was given, with all that is wrong about it.
///
///     var assembly = SettingAssembly(DaemonConfiguration(store: "/srv/tandem"))
///     assembly.set(GivenSetting("limits.connections", ["100"], from: "--set"))
///     assembly.finish()
public struct SettingAssembly: Sendable {
    /// The configuration so far.
    public var configuration: DaemonConfiguration
    /// What is wrong, a sentence each.
    public private(set) var problems: [String] = []
    private let lookup: NameLookup
    /// Whether a key of the journal's retention was given: the defaults of all three hold only together.
    private var hasRetentionSettings = false

    /// Begins with the defaults.
    public init(_ configuration: DaemonConfiguration, lookup: NameLookup = .system) {
        self.configuration = configuration
        self.lookup = lookup
    }

    /// Notes something that is wrong besides the values.
    public mutating func note(_ problem: String) { problems.append(problem) }

    /// Refuses keys that don't exist, with the nearest one that does.
    public mutating func refuseUnknown(_ given: [GivenSetting]) {
        for setting in given where Setting.named(setting.name) == nil {
            let nearest = nearest(to: setting.name, among: Setting.all.map(\.name))
            note(
                "\(setting.origin): there is no key \(setting.name)"
                    + (nearest.map { "; did you mean \($0)?" } ?? "; see tandemd --help"))
        }
    }

    /// Takes the value that counts for a key; one that does not fit is a problem.
    public mutating func set(_ given: GivenSetting) {
        guard let setting = Setting.named(given.name) else { return refuseUnknown([given]) }
        do throws(Setting.Rejection) {
            if setting.isRetentionSetting, !hasRetentionSettings {
                // Beside a bound that was chosen, those that were not would be a surprise.
                configuration.retention = RetentionPolicy()
                hasRetentionSettings = true
            }
            try setting.write(given.values, &configuration, lookup)
            configuration.origins[setting.name] = given.origin
        } catch {
            let value = given.values.joined(separator: ", ")
            note(
                "\(given.origin): \(setting.name) can't be \"\(value)\": "
                    + (error.reason ?? "expected \(setting.expected)"))
        }
    }

    /// Checks what has to fit together.
    public mutating func finish() {
        let retention = configuration.retention
        if let keep = retention.keepBytes, let cap = retention.capBytes, keep > cap {
            noteOrder("journal.keepBytes", "journal.capBytes")
        }
        let limits = configuration.limits
        if limits.blobBytes > limits.transactionBytes {
            noteOrder("limits.blobBytes", "limits.transactionBytes")
        }
        if limits.frameBytes > limits.inboundBytes {
            noteOrder("limits.frameBytes", "limits.inboundBytes")
        }
    }

    private mutating func noteOrder(_ small: String, _ large: String) {
        func described(_ name: String) -> String {
            let value = Setting.named(name)?.value(in: configuration) ?? ""
            return "\(name) (\(value), \(configuration.origin(of: name)))"
        }
        note("\(described(small)) is larger than \(described(large))")
    }

    /// Every key with its value and where that came from.
    public var lines: [String] {
        Setting.all.map { setting in
            let value = setting.value(in: configuration)
            return "\(setting.name) = \(value.isEmpty ? "-" : value)"
                + "  # \(configuration.origin(of: setting.name))"
        }
    }
}

extension Setting {
    /// Whether it is a bound of what is kept of the journal.
    fileprivate var isRetentionSetting: Bool {
        ["journal.keepBytes", "journal.keepSeconds", "journal.capBytes"].contains(name)
    }
}

extension DaemonConfiguration {
    /// Who set a key, or `default`.
    func origin(of key: String) -> String { origins[key] ?? "default" }

    /// Every key with its value and who set it, for `tandem config`.
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

/// The word that a misspelt one was probably meant to be.
public func nearest(to word: String, among words: [String]) -> String? {
    let known = words.map { (word: $0, distance: distance(word, $0)) }
    guard let best = known.min(by: { $0.distance < $1.distance }),
        best.distance <= max(2, word.count / 3)
    else { return words.first { $0.hasSuffix("." + word) } }
    return best.word
}

/// How many letters have to be put in, taken out or changed; case counts less than a letter.
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

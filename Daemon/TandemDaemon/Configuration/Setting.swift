import TandemIO

/// A key of the configuration: its name, its valid values, and the property that it sets.
package struct Setting: Sendable {
    /// The name, with dots between levels: `limits.connections`.
    package let name: String
    /// A one-line description.
    package let summary: String
    /// A description of the valid values.
    package let expected: String
    /// Whether the key accepts several values.
    package let isList: Bool
    let read: @Sendable (DaemonConfiguration) -> [String]
    let write: @Sendable ([String], inout DaemonConfiguration, NameLookup) throws(Rejection) -> Void

    /// An error for an invalid value, with an optional reason.
    struct Rejection: Error {
        var reason: String?
    }

    init(
        _ name: String, _ summary: String, expected: String, isList: Bool = false,
        read: @escaping @Sendable (DaemonConfiguration) -> [String],
        write:
            @escaping @Sendable ([String], inout DaemonConfiguration, NameLookup) throws(Rejection)
            -> Void
    ) {
        self.name = name
        self.summary = summary
        self.expected = expected
        self.isList = isList
        self.read = read
        self.write = write
    }

    /// The environment variable that sets the key.
    package var variable: String {
        switch name {
        case "store": "TANDEM_STORE"
        case "socket.path": "TANDEM_SOCKET"
        default: Self.variablePrefix + Self.shouted(name)
        }
    }

    /// The prefix of the environment variables that only the daemon reads.
    package static let variablePrefix = "TANDEMD_"

    /// Returns a name in upper case with underscores: `limits.ringBytes` becomes
    /// `LIMITS_RING_BYTES`.
    private static func shouted(_ name: String) -> String {
        var text = ""
        for character in name {
            if character.isUppercase { text += "_" }
            text += character == "." ? "_" : character.uppercased()
        }
        return text
    }

    /// Returns the key's value in a configuration, as text.
    package func value(in configuration: DaemonConfiguration) -> String {
        read(configuration).joined(separator: ", ")
    }
}

/// Functions that look up the ids of users and groups by name.
package struct NameLookup: Sendable {
    /// Returns the id of a user, or nil if there is none with the name.
    package var user: @Sendable (String) -> UInt32?
    /// Returns the id of a group, or nil if there is none with the name.
    package var group: @Sendable (String) -> UInt32?

    /// Creates a lookup from two functions.
    package init(
        user: @escaping @Sendable (String) -> UInt32?,
        group: @escaping @Sendable (String) -> UInt32?
    ) {
        self.user = user
        self.group = group
    }

    /// A lookup in the system's databases of users and groups.
    package static let system = NameLookup(
        user: { ThisProcess.userID(named: $0) }, group: { ThisProcess.groupID(named: $0) })
}

// MARK: Kinds of settings

extension Setting {
    /// Returns a setting for a number that has a unit and a valid range.
    static func number(
        _ name: String, _ summary: String, _ unit: SettingUnit, _ range: ClosedRange<Int>,
        _ path: any WritableKeyPath<DaemonConfiguration, Int> & Sendable
    ) -> Setting {
        Setting(
            name, summary, expected: bounds(unit, range), read: { [unit.text($0[keyPath: path])] },
            write: { values, configuration, _ throws(Rejection) in
                configuration[keyPath: path] = try Self.number(values, unit, range)
            })
    }

    /// Returns a setting for an optional number; nil is written and shown as `absent`.
    static func number(
        _ name: String, _ summary: String, _ unit: SettingUnit, _ range: ClosedRange<Int>,
        absent: String, _ path: any WritableKeyPath<DaemonConfiguration, Int?> & Sendable
    ) -> Setting {
        // A word such as `all` must be accepted in addition to numbers; `1 TiB` is a number anyway.
        let word = unit.number(absent) == nil ? absent : nil
        return Setting(
            name, summary, expected: bounds(unit, range) + (word.map { ", or \($0)" } ?? ""),
            read: { [$0[keyPath: path].map(unit.text) ?? absent] },
            write: { values, configuration, _ throws(Rejection) in
                let isAbsent = word != nil && values == [absent]
                configuration[keyPath: path] =
                    isAbsent ? nil : try Self.number(values, unit, range)
            })
    }

    /// Returns a setting for one of several words.
    static func choice<Value: Sendable>(
        _ name: String, _ summary: String, _ words: [(String, Value)],
        _ path: any WritableKeyPath<DaemonConfiguration, Value> & Sendable,
        _ isSame: @escaping @Sendable (Value, Value) -> Bool
    ) -> Setting {
        Setting(
            name, summary, expected: words.map(\.0).joined(separator: ", "),
            read: { configuration in
                words.first { isSame($0.1, configuration[keyPath: path]) }.map { [$0.0] } ?? []
            },
            write: { values, configuration, _ throws(Rejection) in
                guard values.count == 1, let word = words.first(where: { $0.0 == values[0] })
                else { throw Rejection() }
                configuration[keyPath: path] = word.1
            })
    }

    private static func bounds(_ unit: SettingUnit, _ range: ClosedRange<Int>) -> String {
        "\(unit.text(range.lowerBound)) to \(unit.text(range.upperBound))"
    }

    private static func number(
        _ values: [String], _ unit: SettingUnit, _ range: ClosedRange<Int>
    ) throws(Rejection) -> Int {
        guard values.count == 1, let number = unit.number(values[0]), range.contains(number) else {
            throw Rejection()
        }
        return number
    }
}

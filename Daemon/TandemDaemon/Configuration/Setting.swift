import TandemIO

/// A key of the configuration: its name, what may stand there, and where it goes.
public struct Setting: Sendable {
    /// The name, with dots between levels: `limits.connections`.
    public let name: String
    /// One line about it.
    public let summary: String
    /// What may stand there.
    public let expected: String
    /// Whether several values may stand there.
    public let isList: Bool
    let read: @Sendable (DaemonConfiguration) -> [String]
    let write: @Sendable ([String], inout DaemonConfiguration, NameLookup) throws(Rejection) -> Void

    /// Why a value does not fit.
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

    /// The variable of the environment that sets it.
    public var variable: String {
        switch name {
        case "store": "TANDEM_STORE"
        case "socket.path": "TANDEM_SOCKET"
        default: Self.variablePrefix + Self.shouted(name)
        }
    }

    /// What the variables of the daemon alone begin with.
    public static let variablePrefix = "TANDEMD_"

    /// `limits.ringBytes` as `LIMITS_RING_BYTES`.
    private static func shouted(_ name: String) -> String {
        var text = ""
        for character in name {
            if character.isUppercase { text += "_" }
            text += character == "." ? "_" : character.uppercased()
        }
        return text
    }

    /// What stands there when nobody says anything, as text.
    public func value(in configuration: DaemonConfiguration) -> String {
        read(configuration).joined(separator: ", ")
    }
}

/// Finds the numbers of users and groups by name.
public struct NameLookup: Sendable {
    /// The number of a user.
    public var user: @Sendable (String) -> UInt32?
    /// The number of a group.
    public var group: @Sendable (String) -> UInt32?

    /// A lookup by two functions.
    public init(
        user: @escaping @Sendable (String) -> UInt32?,
        group: @escaping @Sendable (String) -> UInt32?
    ) {
        self.user = user
        self.group = group
    }

    /// The names that the system knows.
    public static let system = NameLookup(
        user: { ThisProcess.userID(named: $0) }, group: { ThisProcess.groupID(named: $0) })
}

// MARK: Kinds of settings

extension Setting {
    /// A number of some unit within bounds.
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

    /// A number of some unit within bounds, or nothing, which is written and shown as `absent`.
    static func number(
        _ name: String, _ summary: String, _ unit: SettingUnit, _ range: ClosedRange<Int>,
        absent: String, _ path: any WritableKeyPath<DaemonConfiguration, Int?> & Sendable
    ) -> Setting {
        // A word of its own can be given, too; `1 TiB` is a number anyway.
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

    /// One of some words.
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

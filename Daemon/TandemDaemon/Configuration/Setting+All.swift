import TandemJournal

extension Setting {
    /// All keys, in the order of the documentation.
    package static let all: [Setting] = places + journal + roles + Limit.allCases.map(\.setting)

    /// Returns the key with a name, or nil if there is none.
    package static func named(_ name: String) -> Setting? { all.first { $0.name == name } }

    private static let places: [Setting] = [
        Setting(
            "store", "directory of store and journal; created if missing", expected: "a path",
            read: { [$0.store] },
            write: { values, configuration, _ throws(Rejection) in
                configuration.store = try path(values)
            }),
        Setting(
            "socket.path", "path of the socket; its directory is created if missing",
            expected: "a path", read: { $0.socket.map { [$0] } ?? [] },
            write: { values, configuration, _ throws(Rejection) in
                configuration.socket = try path(values)
            }),
        Setting(
            "socket.mode", "mode of the socket, which decides who can connect",
            expected: "0600 to 0777",
            read: { ["0" + String($0.socketMode, radix: 8)] },
            write: { values, configuration, _ throws(Rejection) in
                configuration.socketMode = try mode(values)
            }),
        Setting(
            "socket.group", "group of the socket", expected: "a group's name or number",
            read: { [$0.socketGroup.map(String.init) ?? "the daemon's"] },
            write: { values, configuration, lookup throws(Rejection) in
                let groups = try Setting.numbers(values, "group", lookup.group)
                guard groups.count == 1 else { throw Rejection() }
                configuration.socketGroup = groups[0]
            }),
        .choice(
            "durability",
            "acknowledged saves survive power loss (full) or only process crashes (relaxed)",
            [("full", Durability.full), ("relaxed", .relaxed)], \.durability, ==),
        .choice(
            "log.level", "minimum level that is logged",
            LogLevel.allCases.map { ("\($0)", $0) }, \.logLevel, ==),
        .number(
            "mapBytes", "quota of the store, not counting free pages", .bytes, 1 << 20...1 << 47,
            absent: "1 TiB", \.storeQuotaBytes),
    ]

    private static let journal: [Setting] = [
        .number(
            "journal.segmentBytes", "size of a segment of the journal", .bytes, 8 << 10...1 << 30,
            absent: "64 MiB", \.segmentBytes),
        .number(
            "journal.keepBytes", "size above which the oldest unneeded segments are removed",
            .bytes,
            1...1 << 50, absent: "all", \.retention.keptBytes),
        .number(
            "journal.keepSeconds", "age above which unneeded segments are removed", .seconds,
            1...1 << 40,
            absent: "all", \.retention.keptSeconds),
        .number(
            "journal.capBytes",
            "hard limit on the journal's size; readers that still need removed segments are expired",
            .bytes,
            1...1 << 50, absent: "none", \.retention.cappedBytes),
    ]

    private static let roles: [Setting] = {
        let words = Role.allCases.map { ($0.rawValue, $0) }
        let others = Setting.choice(
            "roles.others", "role of users in no list; with none, they cannot connect", words,
            \.roles.others, ==)
        return [others]
            + [Role.reader, .writer, .admin].flatMap { [users(of: $0), groups(of: $0)] }
    }()

    private static func users(of role: Role) -> Setting {
        Setting(
            "roles.\(role).users", "users with the role \(role)",
            expected: "names or numbers of users", isList: true,
            read: { ($0.roles.users[role] ?? []).sorted().map(String.init) },
            write: { values, configuration, lookup throws(Rejection) in
                let users = try numbers(values, "user", lookup.user)
                configuration.roles.users[role] = Set(users)
            })
    }

    private static func groups(of role: Role) -> Setting {
        Setting(
            "roles.\(role).groups", "groups with the role \(role)",
            expected: "names or numbers of groups", isList: true,
            read: { ($0.roles.groups[role] ?? []).sorted().map(String.init) },
            write: { values, configuration, lookup throws(Rejection) in
                let groups = try numbers(values, "group", lookup.group)
                configuration.roles.groups[role] = Set(groups)
            })
    }

    private static func path(_ values: [String]) throws(Rejection) -> String {
        guard values.count == 1, !values[0].isEmpty, !values[0].utf8.contains(0) else {
            throw Rejection()
        }
        return values[0]
    }

    private static func mode(_ values: [String]) throws(Rejection) -> UInt32 {
        guard values.count == 1, let mode = UInt32(values[0], radix: 8),
            (0o600...0o777).contains(mode)
        else { throw Rejection() }
        return mode
    }

    private static func numbers(
        _ names: [String], _ kind: String, _ find: (String) -> UInt32?
    ) throws(Rejection) -> [UInt32] {
        var numbers: [UInt32] = []
        for name in names {
            guard let number = UInt32(name) ?? find(name) else {
                throw Rejection(reason: "this machine has no \(kind) \(name)")
            }
            numbers.append(number)
        }
        return numbers
    }
}

extension Limit {
    fileprivate var setting: Setting {
        let facts = facts
        return .number(
            "limits.\(rawValue)", facts.summary, facts.unit, facts.range,
            \.limits[self])
    }
}

extension RetentionPolicy {
    fileprivate var keptBytes: Int? {
        get { keepBytes.map { Int(clamping: $0) } }
        set { keepBytes = newValue.map(UInt64.init) }
    }

    fileprivate var keptSeconds: Int? {
        get { keepSeconds.map { Int(clamping: $0) } }
        set { keepSeconds = newValue.map(UInt64.init) }
    }

    fileprivate var cappedBytes: Int? {
        get { capBytes.map { Int(clamping: $0) } }
        set { capBytes = newValue.map(UInt64.init) }
    }
}

/// The system unit of a process, and its user unit if it runs under a user's service manager.
///
/// journald records them separately, as `_SYSTEMD_UNIT` and `_SYSTEMD_USER_UNIT`. Only root
/// determines the system unit of a process; users choose the names of their user units and of
/// nested control groups. In the text form the user unit follows a slash, which no unit name
/// contains: `user@1000.service/app.service`.
public struct SystemdUnits: Hashable, Sendable, CustomStringConvertible {
    /// The system unit.
    public let system: String
    /// The user unit; nil for a process outside a user's service manager.
    public let user: String?

    /// The units as one text.
    public var description: String { user.map { "\(system)/\($0)" } ?? system }

    /// Whether a name, with or without `.service`, matches recorded units.
    ///
    /// `nginx` matches only the system unit. `user@1000` matches everything under that service
    /// manager, and `user@1000.service/nginx` matches one of its units.
    public static func matches(_ name: String, recorded: String) -> Bool {
        let system = String(recorded.prefix { $0 != "/" })
        return [name, name + ".service"].contains { $0 == recorded || $0 == system }
    }

    /// Parses the text of a `cgroup` file; nil if it names no units.
    init?(inControlGroups text: String) {
        for line in text.split(separator: "\n") {
            // "0::/path" in version 2, "1:name=systemd:/path" in version 1.
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3, fields[1].isEmpty || fields[1] == "name=systemd" else {
                continue
            }
            let names = fields[2].split(separator: "/")
            guard let index = names.firstIndex(where: Self.isUnit) else { continue }
            system = String(names[index])
            let isManager = system.hasPrefix("user@") && system.hasSuffix(".service")
            user =
                isManager ? names[(index + 1)...].first(where: Self.isUnit).map(String.init) : nil
            return
        }
        return nil
    }

    private static func isUnit(_ name: Substring) -> Bool {
        name.hasSuffix(".service") || name.hasSuffix(".scope")
    }
}

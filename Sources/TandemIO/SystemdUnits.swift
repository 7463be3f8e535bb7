/// The unit of the system's manager that a process runs in, and below a user's manager the unit of that as well.
///
/// journald keeps them apart as `_SYSTEMD_UNIT` and `_SYSTEMD_USER_UNIT`. Only root gives a process its system unit; the name of a user
/// unit, and of every control group further inside, is up to the user. As text the user unit stands behind a slash, which no
/// unit's name has: `user@1000.service/app.service`.
public struct SystemdUnits: Hashable, Sendable, CustomStringConvertible {
    /// The unit of the system's manager.
    public let system: String
    /// The unit of the user's manager; nil for a process that has none.
    public let user: String?

    /// The units as one text.
    public var description: String { user.map { "\(system)/\($0)" } ?? system }

    /// Whether a name, with or without `.service`, is that of recorded units.
    ///
    /// `nginx` finds the system unit alone, `user@1000` all of that manager, `user@1000.service/nginx` a unit of it.
    public static func matches(_ name: String, recorded: String) -> Bool {
        let system = String(recorded.prefix { $0 != "/" })
        return [name, name + ".service"].contains { $0 == recorded || $0 == system }
    }

    /// The units named in the text of a `cgroup` file; nil if there are none.
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

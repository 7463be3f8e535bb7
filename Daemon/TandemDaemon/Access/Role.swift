public import TandemIO

/// What a client may do; each role may do what the ones before it may.
public enum Role: String, CaseIterable, Comparable, Sendable, CustomStringConvertible {
    /// Not even connect.
    case none
    /// Read, follow, wait.
    case reader
    /// Save, install a model, and register consumers of the journal.
    case writer
    /// End the connections of others, move or remove their consumers, give up journal, and migrate the store.
    case admin

    /// The name, as in the configuration.
    public var description: String { rawValue }

    private var rank: Int { Role.allCases.firstIndex(of: self) ?? 0 }

    /// Whether another role may do more.
    public static func < (one: Role, other: Role) -> Bool { one.rank < other.rank }
}

/// Who has which role, by what the kernel says of a client.
///
/// Root and the daemon's own user are admins. Everybody else has the highest role of all lists with the user or one of
/// the groups, supplementary ones too; who is in no list has the role of `others`.
public struct RolePolicy: Hashable, Sendable {
    /// The role of who is in no list.
    public var others = Role.writer
    /// Users by role.
    public var users: [Role: Set<UInt32>] = [:]
    /// Groups by role.
    public var groups: [Role: Set<UInt32>] = [:]

    /// The policy without lists: everybody who can connect may save.
    public init() {}

    /// The role of a client of a daemon that runs as the user `daemon`.
    public func role(of peer: PeerCredentials, daemon: UInt32) -> Role {
        if peer.uid == 0 || peer.uid == daemon { return .admin }
        let found = Role.allCases.last { role in
            users[role]?.contains(peer.uid) == true
                || groups[role]?.isDisjoint(with: [peer.gid] + peer.groups) == false
        }
        return found ?? others
    }
}

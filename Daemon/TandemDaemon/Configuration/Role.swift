package import TandemIO

/// The permissions of a client; each role includes those before it.
public enum Role: String, CaseIterable, Comparable, Sendable, CustomStringConvertible {
    /// The client may not connect.
    case none
    /// The client may read, follow and wait.
    case reader
    /// The client may save, install a model, and register consumers of the journal.
    case writer
    /// The client may administer the daemon.
    ///
    /// This includes ending connections, moving or removing other users' consumers, removing
    /// segments of the journal, and migrating the store.
    case admin

    /// The name in the configuration.
    public var description: String { rawValue }

    private var rank: Int { Role.allCases.firstIndex(of: self) ?? 0 }

    /// Whether the first role has fewer permissions than the second.
    public static func < (one: Role, other: Role) -> Bool { one.rank < other.rank }
}

/// The rules that assign a role to a client, based on the credentials that the kernel reports.
///
/// Root and the daemon's own user are administrators. Other users have the highest role of all
/// lists that contain the user or one of the user's groups, including supplementary ones. Users in
/// no list have the role of `others`.
public struct RolePolicy: Hashable, Sendable {
    /// The role of users in no list.
    public var others = Role.writer
    /// The user ids by role.
    public var users: [Role: Set<UInt32>] = [:]
    /// The group ids by role.
    public var groups: [Role: Set<UInt32>] = [:]

    /// Creates a policy without lists: every user who can open the socket is a writer.
    public init() {}

    /// Returns the role of a client of a daemon that runs as the user `daemon`.
    package func role(of peer: PeerCredentials, daemon: UInt32) -> Role {
        if peer.uid == 0 || peer.uid == daemon { return .admin }
        let found = Role.allCases.last { role in
            users[role]?.contains(peer.uid) == true
                || groups[role]?.isDisjoint(with: [peer.gid] + peer.groups) == false
        }
        return found ?? others
    }
}

import Glibc

/// The user, groups and process at the other end of a socket, recorded by the kernel when it
/// connected.
///
/// Authorize by user and groups. The process id is for display only, because it may be reused.
public struct PeerCredentials: Hashable, Sendable {
    /// The effective user id.
    public var uid: UInt32
    /// The effective group id.
    public var gid: UInt32
    /// The process id.
    public var pid: Int32
    /// The supplementary groups; empty if the kernel can't report them.
    public var groups: [UInt32]

    /// Creates credentials from their components.
    public init(uid: UInt32, gid: UInt32, pid: Int32, groups: [UInt32] = []) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.groups = groups
    }
}

extension Socket {
    /// Returns the peer's credentials from the kernel, with the groups of ``peerGroups()``.
    public func peerCredentials() throws(IOError) -> PeerCredentials {
        // struct ucred: pid, uid, gid.
        var words: [UInt32] = [0, 0, 0]
        var length = socklen_t(12)
        try check(.configureSocket, name) {
            getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &words, &length)
        }
        return PeerCredentials(
            uid: words[1], gid: words[2], pid: Int32(bitPattern: words[0]),
            groups: try peerGroups())
    }

    /// Returns the peer's supplementary groups; empty if the kernel can't report them.
    public func peerGroups() throws(IOError) -> [UInt32] {
        var capacity = 64
        while true {
            var groups = [UInt32](repeating: 0, count: capacity)
            var length = socklen_t(capacity * 4)
            if getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, &groups, &length) == 0 {
                return Array(groups.prefix(Int(length) / 4))
            }
            let number = errno
            if number == ENOPROTOOPT { return [] }
            // The kernel allows 65,536 groups; on ERANGE it returns the required size.
            guard number == ERANGE, Int(length) / 4 > capacity else {
                throw IOError(.configureSocket, name, errno: number)
            }
            capacity = Int(length) / 4
        }
    }
}

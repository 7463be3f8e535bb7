import Glibc

/// Who is at the other end of a socket, as the kernel knows it, at the time it connected.
///
/// Decide by user and groups. The process id only serves people: it may be used again.
public struct PeerCredentials: Hashable, Sendable {
    /// The effective user id.
    public var uid: UInt32
    /// The effective group id.
    public var gid: UInt32
    /// The process id.
    public var pid: Int32
    /// The supplementary groups; empty where the kernel can't say.
    public var groups: [UInt32]

    /// Makes credentials from their parts.
    public init(uid: UInt32, gid: UInt32, pid: Int32, groups: [UInt32] = []) {
        self.uid = uid
        self.gid = gid
        self.pid = pid
        self.groups = groups
    }
}

extension Socket {
    /// Who connected, from the kernel, with the groups of ``peerGroups()``.
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

    /// The supplementary groups of who connected; empty where the kernel can't say.
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
            // The kernel's limit is 65,536 groups; it answers ERANGE with the size it needs.
            guard number == ERANGE, Int(length) / 4 > capacity else {
                throw IOError(.configureSocket, name, errno: number)
            }
            capacity = Int(length) / 4
        }
    }
}

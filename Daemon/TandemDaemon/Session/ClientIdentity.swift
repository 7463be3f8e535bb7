import TandemIO
import TandemModel
import TandemWire

/// The identity of a connected client: its process, its role, and the contents of its hello.
struct ClientIdentity {
    /// The connection's id, unique for the daemon's lifetime.
    let id: UInt64
    let peer: PeerCredentials
    /// The systemd units of the process; empty if there are none.
    let unit: String
    let connectedAt: UInt64
    /// The permissions of the client.
    private(set) var role: Role
    private(set) var author = ""
    /// The hash of the model that the client declared; nil if it declared none.
    private(set) var declaredHash: StableHash?

    init(id: UInt64, peer: PeerCredentials, unit: String, role: Role, now: UInt64) {
        (self.id, self.peer, self.unit, self.role) = (id, peer, unit, role)
        connectedAt = now
    }

    /// Replaces the role.
    mutating func assign(_ role: Role) { self.role = role }

    /// Records the author that the hello names.
    mutating func introduce(author: String) {
        assert(self.author.isEmpty, "A client sends one hello.")
        self.author = author
    }

    /// Records the model that the hello declares.
    mutating func declare(model hash: StableHash) {
        assert(declaredHash == nil, "A client sends one hello.")
        declaredHash = hash
    }

    /// Returns the principal to be recorded with a save of this client.
    ///
    /// Throws `usage` for names longer than ``WireLimits/nameBytes``.
    func principal(author: String?, context: String) throws(TandemError) -> Principal {
        if let author { try WireLimits.check(name: author, of: "author") }
        try WireLimits.check(name: context, of: "context")
        return Principal(
            author: author ?? self.author, context: context, unit: unit, uid: peer.uid,
            gid: peer.gid, pid: UInt32(bitPattern: peer.pid))
    }
}

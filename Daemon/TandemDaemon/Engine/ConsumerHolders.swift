import TandemModel

/// The sessions that read as consumers: each name is held by one session at a time.
///
/// A session holds a name from its registration or acknowledgement until the session ends, so that
/// two processes never process the same changes. The entry of a session that has ended is ignored,
/// and replaced by the next holder. So the table has at most one entry for each registered name.
final class ConsumerHolders {
    private let admission: Admission
    /// The ids of the holders, by the bytes of the name: names that only look alike are different.
    private var holders: [[UInt8]: UInt64] = [:]

    init(_ admission: Admission) { self.admission = admission }

    /// Checks that no other session holds a consumer's name; otherwise throws `consumerInUse`.
    func check(_ name: String, for session: Session) throws(TandemError) {
        guard let id = holders[Array(name.utf8)], id != session.id,
            let holder = admission.sessions[id]
        else { return }
        let client = holder.client
        throw TandemError(
            .consumerInUse,
            "client \(id) (\(client.author), pid \(client.peer.pid)) already reads as the consumer "
                + "\(name); end that client, or use another name")
    }

    /// Makes a session the holder of a consumer's name.
    func hold(_ name: String, by session: Session) {
        assert(admission.sessions[session.id] != nil, "A session that has ended holds no name.")
        holders[Array(name.utf8)] = session.id
    }

    /// Removes the holder of a consumer that was removed.
    func release(_ name: String) { holders[Array(name.utf8)] = nil }
}

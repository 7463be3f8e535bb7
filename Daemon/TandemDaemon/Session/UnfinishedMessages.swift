/// The size of incomplete messages on all connections, in total and by user.
struct UnfinishedMessages {
    private(set) var bytes = 0
    private var bytesByUser: [UInt32: Int] = [:]

    /// Returns the number of bytes of one user.
    func bytes(of user: UInt32) -> Int { bytesByUser[user] ?? 0 }

    /// Replaces the bytes counted for a connection of a user.
    mutating func replace(_ old: Int, by new: Int, of user: UInt32) {
        guard old != new else { return }
        bytes += new - old
        let left = bytes(of: user) + new - old
        assert(left >= 0 && bytes >= left, "The total includes the bytes of each user.")
        bytesByUser[user] = left > 0 ? left : nil
    }
}

import TandemModel
import TandemWire

/// A cache of the newest push bodies, each encoded once for all sessions of a group.
struct PushBodyCache {
    private struct Key: Hashable {
        let group: UInt64
        let position: UInt64
    }

    private var bodies: [Key: PushBody?] = [:]
    /// The keys in order of insertion; those before `start` have been removed.
    private var keys: [Key] = []
    private var start = 0
    private(set) var bytes = 0
    private let maximumBytes: Int
    /// The last result, reused while one transaction is pushed to many sessions.
    private var last: (key: Key, body: PushBody?)?

    /// The number of bytes counted for each entry in addition to its body.
    private static let entryBytes = 256

    /// Creates an empty cache of at most `bytes` bytes; the newest entry alone may exceed that.
    init(bytes: Int = DaemonLimits.pushBodyCacheBytes) { maximumBytes = bytes }

    /// The number of cached bodies.
    var count: Int { bodies.count }

    /// Returns a group's push body of the transaction at a position, or nil if the transaction is
    /// irrelevant to the group.
    ///
    /// Calls `make` if the body is not cached.
    mutating func body(
        at position: UInt64, for group: SubscriberGroup, _ make: () throws -> EncodedTransaction
    ) throws -> PushBody? {
        let key = Key(group: group.id, position: position)
        if let last, last.key == key { return last.body }
        let body: PushBody?
        if let known = bodies[key] {
            body = known
        } else {
            body = try group.filtered(try make()).map { try PushBody($0) }
            insert(body, key)
        }
        last = (key, body)
        return body
    }

    private mutating func insert(_ body: PushBody?, _ key: Key) {
        bodies[key] = .some(body)
        keys.append(key)
        bytes += Self.entryBytes + (body?.bytes.count ?? 0)
        while bytes > maximumBytes, keys.count - start > 1 {
            if let old = bodies.removeValue(forKey: keys[start]) {
                bytes -= Self.entryBytes + (old?.bytes.count ?? 0)
            }
            start += 1
        }
        assert(
            bytes <= maximumBytes || keys.count - start == 1,
            "The cache is within its limit, or has only the newest entry.")
        if start > 1_024, start > keys.count / 2 {
            keys.removeFirst(start)
            start = 0
        }
    }
}

import TandemModel
import TandemWire

/// The bodies of the newest pushes, each made once for all sessions of an audience; bounded in bytes.
struct PushCache {
    private struct Key: Hashable {
        let audience: UInt64
        let position: UInt64
    }

    private var bodies: [Key: PushBody?] = [:]
    /// The keys in the order in which they came, from `start` on.
    private var keys: [Key] = []
    private var start = 0
    private(set) var bytes = 0
    private let maximumBytes: Int
    /// What was asked for last, which is what the next session asks for when one transaction goes to many.
    private var last: (key: Key, body: PushBody?)?

    /// What an entry counts beside its body's bytes.
    private static let entryBytes = 256

    /// An empty cache of at most so many bytes, but for the newest entry.
    init(bytes: Int = DaemonLimits.pushCacheBytes) { maximumBytes = bytes }

    /// How many bodies are held.
    var count: Int { bodies.count }

    /// What an audience gets of the transaction at a position, nil for nothing; made if it is not here.
    mutating func body(
        at position: UInt64, for audience: Audience, _ make: () throws -> EncodedTransaction
    ) throws -> PushBody? {
        let key = Key(audience: audience.number, position: position)
        if let last, last.key == key { return last.body }
        let body: PushBody?
        if let known = bodies[key] {
            body = known
        } else {
            body = try audience.part(of: try make()).map { try PushBody($0) }
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
        if start > 1_024, start > keys.count / 2 {
            keys.removeFirst(start)
            start = 0
        }
    }
}

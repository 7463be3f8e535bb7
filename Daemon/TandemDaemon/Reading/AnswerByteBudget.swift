import TandemModel
import TandemStore

/// The size of an answer being collected, limited to the bytes that reads may hold.
///
/// A request may name an object a million times, or require a million verdicts for each of its
/// lists. Without a bound, a few bytes could make the daemon run out of memory.
final class AnswerByteBudget {
    private(set) var bytes = 0
    private var hops = 0
    private let limits: DaemonLimits
    private let counts: LimitCounters

    init(_ limits: DaemonLimits, _ counts: LimitCounters) {
        self.limits = limits
        self.counts = counts
    }

    /// Adds a row, or the absence of one.
    func add(_ row: Row?) throws(TandemError) {
        try add(Self.bytes(of: row))
    }

    private static func bytes(of row: Row?) -> Int {
        MemoryLayout<Store.Stored>.stride + (row?.bytes.count ?? 0)
    }

    /// Adds a hop of a related key path.
    func addHop() throws(TandemError) {
        hops += 1
        guard hops <= limits.requestReads else {
            throw counts.refusal(
                .requestReads, limits,
                "the key paths of the request have more than \(limits.requestReads) hops")
        }
    }

    /// Adds references.
    func add(references count: Int) throws(TandemError) {
        try add(count * MemoryLayout<ObjectReference>.stride)
    }

    /// Adds ranks.
    func add(ranks count: Int) throws(TandemError) { try add(count * (32 + Rank.byteLimit)) }

    private func add(_ more: Int) throws(TandemError) {
        bytes += more
        try check(bytes)
    }

    /// Throws `limitExceeded` if `bytes` exceeds the limit.
    func check(_ bytes: Int) throws(TandemError) {
        guard bytes <= limits.readBytes else {
            throw counts.refusal(
                .readBytes, limits,
                "the answer has more than \(limits.readBytes) bytes; ask for "
                    + "less at a time")
        }
    }
}

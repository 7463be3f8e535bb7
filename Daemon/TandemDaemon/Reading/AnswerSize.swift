import TandemModel
import TandemStore

/// The bytes of an answer that is collected, which are no more than fetches may hold.
///
/// A question may name an object a million times, or ask what became of as many in each of its lists: without a bound a few bytes
/// could make the daemon run out of memory.
final class AnswerSize {
    private(set) var bytes = 0
    private var hops = 0
    private let limits: DaemonLimits
    private let counts: LimitCounts

    init(_ limits: DaemonLimits, _ counts: LimitCounts) {
        self.limits = limits
        self.counts = counts
    }

    /// Counts a row, or that there is none.
    func add(_ row: Row?) throws(TandemError) {
        try add(Self.bytes(of: row))
    }

    private static func bytes(of row: Row?) -> Int {
        MemoryLayout<Store.Stored>.stride + (row?.bytes.count ?? 0)
    }

    /// Counts a hop of a key path that is followed for the answer.
    func addHop() throws(TandemError) {
        hops += 1
        guard hops <= limits.requestReads else {
            throw counts.refusal(
                .requestReads, limits,
                "the related key paths lead over more than \(limits.requestReads) hops")
        }
    }

    /// Counts references.
    func add(references count: Int) throws(TandemError) {
        try add(count * MemoryLayout<ObjectReference>.stride)
    }

    /// Counts ranks.
    func add(ranks count: Int) throws(TandemError) { try add(count * (32 + Rank.byteLimit)) }

    private func add(_ more: Int) throws(TandemError) {
        bytes += more
        try check(bytes)
    }

    /// Throws `limitExceeded` for more bytes than an answer may hold.
    func check(_ bytes: Int) throws(TandemError) {
        guard bytes <= limits.readBytes else {
            throw counts.refusal(
                .readBytes, limits,
                "the answer has more than \(limits.readBytes) bytes; ask for "
                    + "less at a time")
        }
    }
}

import TandemModel
import TandemWire

/// The object numbers that this process may assign to new objects.
struct LeasedNumbers: Sendable {
    /// Whether a lease was requested and has not arrived.
    var isAsking = false
    private var blocks: [Range<ObjectNumber>] = []
    private var epoch: UInt32 = 0
    private var lastCount: UInt32 = 0
    private static let (fewest, most): (UInt32, UInt32) = (64, 4_096)

    /// The size of the next lease, at least 64 and at most 4,096.
    ///
    /// The size doubles with each lease, so that a process that creates one object does not lease
    /// thousands of numbers.
    var nextCount: UInt32 { min(Self.most, max(Self.fewest, lastCount &* 2)) }

    /// Whether another lease should be requested.
    var isLow: Bool { remaining < Int(min(lastCount, Self.most)) / 2 }

    /// Adds a block, and discards blocks from a different epoch.
    mutating func add(_ lease: Lease) {
        isAsking = false
        if lease.epoch != epoch { blocks.removeAll() }
        epoch = lease.epoch
        lastCount = min(lease.count, Self.most)
        let (end, overflow) = lease.first.addingReportingOverflow(UInt64(lease.count))
        if !overflow, lease.count > 0 { blocks.append(lease.first..<end) }
    }

    /// Removes and returns the next number, or returns nil if a lease has to be requested first.
    mutating func next() -> ObjectNumber? {
        guard let block = blocks.first else { return nil }
        let rest = block.dropFirst()
        if rest.isEmpty { blocks.removeFirst() } else { blocks[0] = rest }
        return block.lowerBound
    }

    /// The number of unused object numbers.
    var remaining: Int { blocks.reduce(0) { $0 + $1.count } }
}

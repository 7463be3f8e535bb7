import TandemModel
import TandemStore

/// Hands out object numbers; those below the durable mark are reserved ahead, so that a hello rarely waits.
struct LeaseBook {
    private var next: ObjectNumber
    private var reservedBelow: ObjectNumber

    /// After a start everything below the store's mark may have been handed out.
    init(_ store: Store) {
        next = store.nextNumber
        reservedBelow = store.nextNumber
    }

    /// All numbers below this one may have been leased.
    var numbersBelow: ObjectNumber { next }

    /// The first of `count` numbers that nobody else has; the mark above them is durable.
    mutating func lease(_ count: UInt32, _ store: Store) throws -> ObjectNumber {
        let count = max(1, min(count, DaemonLimits.leaseNumbers))
        if next + UInt64(count) > reservedBelow {
            next = try store.leaseNumbers(DaemonLimits.leaseReserve)
            reservedBelow = store.nextNumber
        }
        defer { next += UInt64(count) }
        return next
    }
}

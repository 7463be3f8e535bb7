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

    /// True when a lease of `count` numbers has to reserve more of them first, which commits the store.
    func isShort(of count: UInt32) -> Bool {
        next + UInt64(LeaseBook.clamped(count)) > reservedBelow
    }

    private static func clamped(_ count: UInt32) -> UInt32 {
        max(1, min(count, DaemonLimits.leaseNumbers))
    }

    /// Makes more numbers ready, durable on return; commits the store.
    mutating func reserve(_ store: Store) throws(StoreError) {
        next = try store.leaseNumbers(DaemonLimits.leaseReserve)
        reservedBelow = store.nextNumber
    }

    /// The first of `count` numbers that nobody else has; the mark above them is durable.
    mutating func lease(_ count: UInt32) -> ObjectNumber {
        precondition(!isShort(of: count), "Numbers are reserved before they are leased.")
        defer { next += UInt64(LeaseBook.clamped(count)) }
        return next
    }
}

import TandemModel
import TandemStore

/// Hands out object numbers; those below the durable mark are reserved ahead, so that a hello rarely waits.
struct LeaseBook {
    private var next: ObjectNumber
    private var reservedBelow: ObjectNumber
    /// How many numbers a lease has at most.
    private let largest: UInt32

    /// After a start everything below the store's mark may have been handed out.
    init(_ store: Store, atOnce: Int) {
        largest = UInt32(atOnce)
        next = store.nextNumber
        reservedBelow = store.nextNumber
    }

    /// All numbers below this one may have been leased.
    var numbersBelow: ObjectNumber { next }

    /// True when a lease of `count` numbers has to reserve more of them first, which commits the store.
    func isShort(of count: UInt32) -> Bool {
        next + UInt64(clamped(count)) > reservedBelow
    }

    private func clamped(_ count: UInt32) -> UInt32 { max(1, min(count, largest)) }

    /// Makes more numbers ready, durable on return; commits the store.
    mutating func reserve(_ store: Store) throws(StoreError) {
        next = try store.leaseNumbers(largest * DaemonLimits.leasesReserved)
        reservedBelow = store.nextNumber
    }

    /// At most `count` numbers that nobody else has; the mark above them is durable.
    mutating func lease(_ count: UInt32) -> Range<ObjectNumber> {
        precondition(!isShort(of: count), "Numbers are reserved before they are leased.")
        let end = next + UInt64(clamped(count))
        defer { next = end }
        return next..<end
    }
}

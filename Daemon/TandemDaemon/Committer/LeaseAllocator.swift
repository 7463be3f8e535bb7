import TandemModel
import TandemStore

/// An allocator of object numbers.
///
/// Numbers below a durable mark are reserved in advance, so that a hello rarely waits for the disk.
struct LeaseAllocator {
    private var next: ObjectNumber
    private var reservedBelow: ObjectNumber
    /// The maximum number of object numbers in one lease.
    private let largest: UInt32

    /// Creates an allocator that starts at the store's mark.
    ///
    /// Every number below the mark may have been leased before a restart.
    init(_ store: Store, atOnce: Int) {
        largest = UInt32(atOnce)
        next = store.nextNumber
        reservedBelow = store.nextNumber
    }

    /// The upper bound of all leased numbers, exclusive.
    var numbersBelow: ObjectNumber { next }

    /// Whether a lease of `count` numbers must reserve more first, which commits the store.
    func isShort(of count: UInt32) -> Bool {
        next + UInt64(clamped(count)) > reservedBelow
    }

    private func clamped(_ count: UInt32) -> UInt32 { max(1, min(count, largest)) }

    /// Reserves more numbers, durable on return; commits the store.
    mutating func reserve(_ store: Store) throws(StoreError) {
        let first = try store.leaseNumbers(largest * DaemonLimits.leasesReserved)
        assert(first >= reservedBelow, "No number is reserved twice.")
        next = first
        reservedBelow = store.nextNumber
        assert(!isShort(of: largest), "The reserved numbers suffice for the largest lease.")
    }

    /// Returns at most `count` numbers that are never leased again; the mark above them is durable.
    mutating func lease(_ count: UInt32) -> Range<ObjectNumber> {
        precondition(!isShort(of: count), "Numbers are reserved before they are leased.")
        let end = next + UInt64(clamped(count))
        defer { next = end }
        return next..<end
    }
}

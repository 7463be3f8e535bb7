import TandemIO

/// Makes the ids of a context's own saves: 96 random bits of the context, and a number that ascends.
///
/// So the ids of one saver lie side by side in the daemon's store, and saving again and again dirties few of its pages.
struct SaveIDs {
    private let context = ThisProcess.randomBytes(12)
    private var last: UInt32
    private var more: [UInt8] = []

    init(last: UInt32 = 0) { self.last = last }

    /// An id that no save had.
    mutating func next() -> [UInt8] {
        // Beyond 2^32 saves the ids grow longer.
        if last == .max { more += ThisProcess.randomBytes(4) }
        last &+= 1
        var id = context
        id.reserveCapacity(context.count + more.count + 4)
        id += more
        withUnsafeBytes(of: last.bigEndian) { id += $0 }
        return id
    }
}

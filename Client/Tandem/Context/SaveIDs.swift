import TandemIO

/// Generates the ids of a context's saves: 96 random bits per context, and an ascending number.
///
/// The ids of one writer are therefore adjacent in the daemon's store, and consecutive saves change
/// few of its pages.
struct SaveIDs {
    private let context = ThisProcess.randomBytes(12)
    private var last: UInt32
    private var more: [UInt8] = []

    init(last: UInt32 = 0) { self.last = last }

    /// Returns an unused id.
    mutating func next() -> [UInt8] {
        // After 2^32 saves the ids become longer.
        if last == .max { more += ThisProcess.randomBytes(4) }
        last &+= 1
        var id = context
        id.reserveCapacity(context.count + more.count + 4)
        id += more
        withUnsafeBytes(of: last.bigEndian) { id += $0 }
        return id
    }
}

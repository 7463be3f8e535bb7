/// Counts the keys read while tables are scanned, and reports progress periodically.
struct KeyProgress {
    /// The number of keys between two reports.
    static let stride: UInt64 = 256
    private let total: UInt64
    private var done: UInt64 = 0
    private let tell: (_ done: UInt64, _ total: UInt64) -> Void

    /// Creates a counter with a total number of keys.
    init(of total: Int, _ tell: @escaping (_ done: UInt64, _ total: UInt64) -> Void) {
        self.total = UInt64(total)
        self.tell = tell
    }

    /// Counts one key.
    mutating func step() {
        done += 1
        if done.isMultiple(of: Self.stride) { tell(done, total) }
    }

    /// Reports the final count.
    func end() { tell(done, total) }
}

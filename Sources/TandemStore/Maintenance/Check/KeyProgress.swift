/// Counts the keys read in a scan, and reports progress periodically.
struct KeyProgress {
    /// The number of keys between two progress reports.
    static let stride: UInt64 = 256
    private let total: UInt64
    private var done: UInt64 = 0
    private let report: (_ done: UInt64, _ total: UInt64) -> Void

    /// Creates a counter with a total number of keys.
    init(of total: Int, _ report: @escaping (_ done: UInt64, _ total: UInt64) -> Void) {
        self.total = UInt64(total)
        self.report = report
    }

    /// Counts one key.
    mutating func step() {
        done += 1
        if done.isMultiple(of: Self.stride) { report(done, total) }
    }

    /// Reports the final count.
    func end() { report(done, total) }
}

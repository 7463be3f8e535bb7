/// Counts keys on the way through tables, and tells of it now and then.
struct KeyProgress {
    /// How many keys pass between two calls.
    static let stride: UInt64 = 256
    private let total: UInt64
    private var done: UInt64 = 0
    private let tell: (_ done: UInt64, _ total: UInt64) -> Void

    /// Counts up to a total.
    init(of total: Int, _ tell: @escaping (_ done: UInt64, _ total: UInt64) -> Void) {
        self.total = UInt64(total)
        self.tell = tell
    }

    /// One more key.
    mutating func step() {
        done += 1
        if done.isMultiple(of: Self.stride) { tell(done, total) }
    }

    /// Tells where it ended.
    func end() { tell(done, total) }
}

/// Tells writes of save ids that go on where another ended from those that may go anywhere.
///
/// Tandem's own ids ascend within a context, so that many share a page; nothing makes other clients' ids do that, and then each
/// dirties a page of its own. Remembered are a bounded number of runs: whoever falls out begins anew.
struct SaveRuns {
    /// Runs that are known at a time.
    static let kept = 256
    /// The last eight bytes of an id may be so much above those of the run.
    private static let longestStep: UInt64 = 1_024

    /// How many writes went somewhere else.
    private(set) var scattered = 0
    private var runs: [(prefix: Int, last: UInt64)?] = Array(repeating: nil, count: SaveRuns.kept)

    /// Notes a write of a key.
    mutating func note(_ key: UnsafeRawBufferPointer) {
        let split = max(0, key.count - 8)
        var (prefix, last) = (17, UInt64(0))
        for at in 0..<split { prefix = prefix &* 31 &+ Int(key[at]) }
        for at in split..<key.count { last = last << 8 | UInt64(key[at]) }
        let place = Int(UInt(bitPattern: prefix) % UInt(Self.kept))
        if let run = runs[place], run.prefix == prefix, last &- run.last <= Self.longestStep {
            runs[place]?.last = last
        } else {
            runs[place] = (prefix, last)
            scattered += 1
        }
    }

    /// Notes a write of a key.
    mutating func note(_ key: [UInt8]) { key.withUnsafeBytes { note($0) } }
}

/// Distinguishes writes with ascending save ids from writes with scattered ids.
///
/// Tandem's own ids ascend within a context, so consecutive ids often share a page. The ids of
/// other clients may be random, and each write then dirties a page of its own. A bounded number of
/// ascending runs is tracked; an id of an evicted run counts as scattered.
struct SequentialIDDetector {
    /// The number of runs tracked at a time.
    static let capacity = 256
    /// The largest difference between consecutive ids of a run, as the number in their last eight
    /// bytes.
    private static let longestStep: UInt64 = 1_024

    /// The number of writes that did not continue a tracked run.
    private(set) var scattered = 0
    private var runs: [(prefix: Int, last: UInt64)?] = Array(
        repeating: nil, count: SequentialIDDetector.capacity)

    /// Counts a write of a key.
    mutating func record(_ key: UnsafeRawBufferPointer) {
        let split = max(0, key.count - 8)
        var (prefix, last) = (17, UInt64(0))
        for at in 0..<split { prefix = prefix &* 31 &+ Int(key[at]) }
        for at in split..<key.count { last = last << 8 | UInt64(key[at]) }
        let index = Int(UInt(bitPattern: prefix) % UInt(Self.capacity))
        if let run = runs[index], run.prefix == prefix, last &- run.last <= Self.longestStep {
            runs[index]?.last = last
        } else {
            runs[index] = (prefix, last)
            scattered += 1
        }
    }

    /// Counts a write of a key.
    mutating func record(_ key: [UInt8]) { key.withUnsafeBytes { record($0) } }
}

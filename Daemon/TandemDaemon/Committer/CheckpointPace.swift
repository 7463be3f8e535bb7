/// The number of dirty pages that triggers a checkpoint, which bounds how long writers wait for it.
///
/// The cost of a page is measured on past checkpoints, because it differs by a factor of a hundred
/// between disks.
struct CheckpointPace {
    private var nanosecondsPerPage: Double?

    /// Records the duration of a checkpoint of `pages` pages.
    mutating func record(pages: Int, nanoseconds: UInt64) {
        // With fewer pages, the flush dominates the duration.
        guard pages >= Self.leastPages else { return }
        let measured = Double(nanoseconds) / Double(pages)
        nanosecondsPerPage = nanosecondsPerPage.map { (3 * $0 + measured) / 4 } ?? measured
    }

    /// Returns the number of dirty pages at which a checkpoint is due, at most `most`.
    func pages(atMost most: Int) -> Int {
        let cost = max(1, nanosecondsPerPage ?? Self.assumed)
        let pages = Double(DaemonLimits.checkpointNanoseconds) / cost
        return min(most, max(Self.leastPages, Int(min(pages, Double(most)))))
    }

    private static let leastPages = 256
    /// The cost of a page before any was measured, in nanoseconds.
    private static let assumed = 10_000.0
}

/// The number of dirty pages that triggers a checkpoint, which bounds how long writers wait for it.
///
/// The cost of a page is measured on past checkpoints, because it differs by a factor of a hundred
/// between disks.
struct CheckpointPace {
    private var nanosecondsPerPage = 0.0

    /// Records the duration of a checkpoint of `pages` pages.
    mutating func record(pages: Int, nanoseconds: UInt64) {
        // With fewer pages, the flush dominates the duration.
        guard pages >= Self.leastPages else { return }
        let measured = Double(nanoseconds) / Double(pages)
        nanosecondsPerPage =
            nanosecondsPerPage == 0 ? measured : (3 * nanosecondsPerPage + measured) / 4
    }

    /// Returns the number of dirty pages at which a checkpoint is due, at most `most`.
    func pages(atMost most: Int) -> Int {
        guard nanosecondsPerPage > 0 else { return most }
        let pages = Double(DaemonLimits.checkpointNanoseconds) / nanosecondsPerPage
        return min(most, max(Self.leastPages, Int(min(pages, Double(most)))))
    }

    private static let leastPages = 256
}

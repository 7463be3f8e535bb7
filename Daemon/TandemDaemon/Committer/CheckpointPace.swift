/// How many dirty pages come together before a checkpoint, so that it keeps savers waiting only for so long.
///
/// What a page takes is learned from the checkpoints so far: it differs by a hundred times between disks.
struct CheckpointPace {
    private var nanosecondsPerPage = 0.0

    /// Notes how long a checkpoint of so many pages took.
    mutating func note(pages: Int, nanoseconds: UInt64) {
        // Of fewer it tells what a flush takes.
        guard pages >= Self.leastPages else { return }
        let measured = Double(nanoseconds) / Double(pages)
        nanosecondsPerPage =
            nanosecondsPerPage == 0 ? measured : (3 * nanosecondsPerPage + measured) / 4
    }

    /// The dirty pages with which a checkpoint is due, no more than a limit allows.
    func pages(atMost most: Int) -> Int {
        guard nanosecondsPerPage > 0 else { return most }
        let pages = Double(DaemonLimits.checkpointNanoseconds) / nanosecondsPerPage
        return min(most, max(Self.leastPages, Int(min(pages, Double(most)))))
    }

    private static let leastPages = 256
}

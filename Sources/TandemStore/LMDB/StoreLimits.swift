/// The store's limits by name.
enum StoreLimits {
    /// The file grows by at least this much, or by a sixteenth, where there is room.
    static let growthBytes = 1 << 20
    /// A checkpoint needs at least this much room behind the last page: its pages, and those of the list of free pages.
    static let checkpointBytes = 256 << 10
    /// LMDB's pages.
    static let pageBytes = 4 << 10
    /// So many keys that are written in their order share a page.
    static let writesPerPage = 16
    /// While nobody waits for a save, a checkpoint is made at so many dirty pages: half of what LMDB takes without spilling.
    static let replayPages = 65_536
    /// And at so many changes, so that a start that is broken off does not begin anew each time.
    static let replayChanges = 1_000_000
    /// The size of the memory map, unless the quota needs more: address space, not memory or disk.
    static let mapBytes = 1 << 40
    /// A map that is not larger than the quota keeps this much free, or an eighth of it, for what is in the journal already.
    static let mapReserveBytes = 16 << 20
    /// A change of the model goes through rows and keys in steps of so many.
    static let migrationStep = 1_024
    /// So many rows at most are kept in memory after they were written.
    static let cachedRows = 1 << 14
    /// A row of more bytes is not kept.
    static let cachedRowBytes = 512
    /// To list so many members takes as long as to read one related object.
    static let membersForOne = 8
    /// A map for which there is no address space is halved, but not below this.
    static let smallestMapBytes = 64 << 20
}

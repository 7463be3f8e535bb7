/// Constants that bound the store's use of memory and disk, and the size of its steps.
enum StoreLimits {
    /// The file grows by at least this many bytes, or by a sixteenth, if there is room.
    static let growthBytes = 1 << 20
    /// The minimum space for a checkpoint after the last page, for its pages and the free list.
    static let checkpointBytes = 256 << 10
    /// The size of LMDB's pages.
    static let pageBytes = 4 << 10
    /// The number of keys written in ascending order that share a page, by estimate.
    static let writesPerPage = 16
    /// The number of dirty pages after which a replay makes a checkpoint, if no save waits.
    ///
    /// Half of what LMDB keeps in memory without spilling.
    static let replayPages = 65_536
    /// The number of changes after which a replay makes a checkpoint.
    ///
    /// An interrupted start thus doesn't repeat the whole replay.
    static let replayChanges = 1_000_000
    /// The size of the memory map unless the quota is larger: address space, not memory or disk.
    static let mapBytes = 1 << 40
    /// The maximum space that a map no larger than the quota keeps free for journalled
    /// transactions.
    ///
    /// A smaller map keeps an eighth of its size free.
    static let mapReserveBytes = 16 << 20
    /// The number of rows or keys in one step of a model change.
    static let migrationStep = 1_024
    /// The maximum number of recently written rows that are cached.
    static let cachedRows = 1 << 14
    /// The maximum size of a cached row, in bytes.
    static let cachedRowBytes = 512
    /// The number of members that can be listed in the time of reading one related object.
    static let membersForOne = 8
    /// The lower limit for halving a map that doesn't fit into the address space.
    static let smallestMapBytes = 64 << 20
}

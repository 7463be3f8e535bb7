/// Constants that bound the store's use of memory and disk space, and the size of its steps.
enum StoreLimits {
    /// The minimum growth of the file in bytes, if there is room; a large file grows by a
    /// sixteenth.
    static let growthBytes = 1 << 20
    /// The minimum space after the last page for a checkpoint: for its pages and the free list.
    static let checkpointBytes = 256 << 10
    /// The size of LMDB's pages.
    static let pageBytes = 4 << 10
    /// The estimated number of keys that share a page if they are written in ascending order.
    static let writesPerPage = 16
    /// The number of dirty pages after which a replay makes a checkpoint, if no save waits.
    ///
    /// Half of what LMDB keeps in memory without spilling.
    static let replayPages = 65_536
    /// The number of changes after which a replay makes a checkpoint.
    ///
    /// So the replay need not be repeated from its beginning if a start is interrupted.
    static let replayChanges = 1_000_000
    /// The size of the memory map unless the quota is larger; it takes address space, not memory or
    /// disk space.
    static let mapBytes = 1 << 40
    /// The maximum space that a map not larger than the quota keeps free for journalled
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
    /// The number of members that can be listed in the time that it takes to read one related
    /// object.
    static let membersForOne = 8
    /// The lower limit for halving a map that doesn't fit into the address space.
    static let smallestMapBytes = 64 << 20
}

/// Limits on the store's memory and disk space, and on the number of keys processed at a time.
enum StoreLimits {
    /// The minimum growth of the file in bytes, if the disk has room; a large file grows by a
    /// sixteenth.
    static let growthBytes = 1 << 20
    /// The minimum space reserved for the pages and the free list of a checkpoint, in bytes.
    static let checkpointBytes = 256 << 10
    /// The size of an LMDB page, in bytes.
    static let pageBytes = 4 << 10
    /// The estimated number of keys that share a page if they are written in ascending order.
    static let writesPerPage = 16
    /// The number of dirty pages after which a replay makes a checkpoint, unless a save is waiting.
    ///
    /// The number is half of the dirty pages that LMDB keeps in memory without spilling.
    static let replayPages = 65_536
    /// The number of changes after which a replay makes a checkpoint.
    ///
    /// If a start is interrupted, the next one then continues at that checkpoint.
    static let replayChanges = 1_000_000
    /// The minimum size of the memory map in bytes, unless address space is limited.
    ///
    /// The map takes address space, not memory or disk space.
    static let mapBytes = 1 << 40
    /// The maximum size of the part of the map that is reserved beyond the quota, in bytes.
    ///
    /// With this reserve, journalled transactions can be applied to a store that has reached its
    /// quota. A small map reserves an eighth of its size.
    static let mapReserveBytes = 16 << 20
    /// The number of rows or keys that a model change processes at a time.
    static let migrationStep = 1_024
    /// The maximum number of recently written rows that are cached.
    static let cachedRows = 1 << 14
    /// The maximum size of a cached row, in bytes.
    static let cachedRowBytes = 512
    /// The number of members that cost as much to list as one related object costs to read.
    static let membersForOne = 8
    /// The size down to which a map is halved until it fits into the address space, in bytes.
    static let smallestMapBytes = 64 << 20
}

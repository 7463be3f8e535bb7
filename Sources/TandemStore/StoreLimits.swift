/// The store's limits by name.
enum StoreLimits {
    /// The file grows by at least this much, or by a sixteenth, where there is room.
    static let growthBytes = 1 << 20
    /// A checkpoint needs at least this much room behind the last page: its pages, and those of the list of free pages.
    static let checkpointBytes = 256 << 10
    /// Room that a checkpoint needs for each change beyond its row: one page, which as a rule several share.
    static let changeBytes = 4 << 10
    /// The last part of the largest map, or an eighth of it: for what is in the journal, not for more saves.
    static let mapReserveBytes = 16 << 20
    /// A map for which there is no address space is halved, but not below this.
    static let smallestMapBytes = 64 << 20
}

public import TandemIO

/// The indexes of a journal's sealed segments, for queries about their payloads.
///
/// The indexes are only a cache: if one is missing or damaged, or belongs to another segment, the
/// query reads the segment. Nothing is ever written. At most one index is open at a time, and the
/// directory is listed at most once. Bound to one thread. Use an instance for one query or one
/// reader only, because it never notices newly sealed segments.
///
///     let indexes = SegmentIndexes(directory: path, fileSystem: RealFileSystem())
///     let walk = indexes.walk(IndexQuery(keys: [.member(33)]))
///     let next = walk.next(from: 1)
public final class SegmentIndexes {
    private let directory: String
    private let fileSystem: any FileSystem
    private var current: (positions: Range<UInt64>, index: SegmentIndex?)?
    /// The segments; nil before they are listed.
    private var sealed: SealedSegments?
    /// The work of closed indexes.
    private var closedWork = 0
    /// The first positions of segments whose indexes were found to be damaged or to belong to
    /// another segment.
    public private(set) var damaged: [UInt64] = []

    /// The work of opening an index, in units of ``work``: three files are opened, and one page of
    /// each is read.
    static let openingWork = 8

    /// Creates the indexes of a directory of segments; opens no file.
    public convenience init(directory: String, fileSystem: any FileSystem) {
        self.init(directory: directory, fileSystem: fileSystem, sealed: nil)
    }

    /// Creates the indexes of known segments.
    init(directory: String, fileSystem: any FileSystem, sealed: SealedSegments?) {
        self.directory = directory
        self.fileSystem = fileSystem
        self.sealed = sealed
    }

    /// The work of all queries so far, for callers that answer in slices; a unit costs about as
    /// much as reading a transaction.
    ///
    /// Opened indexes, looked-up keys and pages read are counted; the number never decreases.
    public var work: Int { closedWork + (current?.index?.work ?? 0) }

    /// Returns an iterator over the positions that may match a query.
    public func walk(_ query: IndexQuery) -> IndexedPositions { IndexedPositions(self, query) }

    /// Whether the segment that holds a position has a usable index.
    public func covers(_ position: UInt64) -> Bool { index(for: position) != nil }

    /// Returns the location of a batch at or shortly before the one that holds a position.
    ///
    /// Returns nil if no index has the location.
    func location(of position: UInt64) -> (segment: UInt64, offset: UInt64)? {
        guard let index = index(for: position) else { return nil }
        let first = index.header.segment.firstPosition
        return attempt { () throws(IndexDamage) in try index.offset(of: position) }
            .flatMap { $0 }.map { (first, $0) }
    }

    /// Returns the usable index of the sealed segment that holds a position.
    func index(for position: UInt64) -> SegmentIndex? {
        if let current, current.positions.contains(position) { return current.index }
        guard let positions = positions(holding: position) else { return nil }
        assert(positions.contains(position), "The found segment holds the position.")
        close()
        closedWork += Self.openingWork
        let index = find(positions.lowerBound, before: positions.upperBound)
        current = (positions, index)
        return index
    }

    /// Returns the positions of the sealed segment that contains a position, or nil if there is
    /// none.
    func positions(holding position: UInt64) -> Range<UInt64>? {
        if sealed == nil {
            let firsts = try? JournalDirectory.segments(in: directory, fileSystem)
            sealed = firsts.map(SealedSegments.init)
        }
        return sealed?.positions(holding: position)
    }

    private func close() {
        closedWork = work
        current = nil
    }

    private func find(_ first: UInt64, before next: UInt64) -> SegmentIndex? {
        switch SegmentIndex.find(directory, first: first, before: next, fileSystem) {
        case .none: return nil
        case .usable(let index): return index
        case .unusable:
            damaged.append(first)
            return nil
        }
    }

    /// Calls `body`, which uses the current index; if `body` finds damage, the index is not used
    /// again.
    func attempt<Answer>(_ body: () throws(IndexDamage) -> Answer) -> Answer? {
        do throws(IndexDamage) {
            return try body()
        } catch {
            if let positions = current?.positions {
                damaged.append(positions.lowerBound)
                close()
                current = (positions, nil)
            }
            return nil
        }
    }
}

/// An iterator over the positions that may match a query.
public final class IndexedPositions {
    private let indexes: SegmentIndexes
    private let query: IndexQuery
    private var segment: Range<UInt64> = 0..<0
    private var asked: UInt64 = 0
    private var merge: PositionMerge?

    init(_ indexes: SegmentIndexes, _ query: IndexQuery) {
        self.indexes = indexes
        self.query = query
    }

    /// Returns the first position at or above `position` that may match, or nil if no index helps.
    ///
    /// If the result is nil, the payload at `position` has to be read. If no payload in the rest of
    /// the segment matches, the result is the position after the segment.
    ///
    /// Cost: a few pages per key at the first position of a segment, and almost nothing afterwards.
    public func next(from position: UInt64) -> UInt64? {
        guard query.isSelective, let index = indexes.index(for: position) else { return nil }
        let found = indexes.attempt { () throws(IndexDamage) -> UInt64? in
            let positions = index.header.segment.positions
            if positions != segment || position < asked {
                merge = try index.positions(of: query)
                segment = positions
            }
            asked = position
            guard merge != nil else { return position }
            return try merge?.first(from: position) ?? positions.upperBound
        }
        // Discard the results of a damaged index.
        if found == nil { segment = 0..<0 }
        assert((found ?? nil).map { $0 >= position } ?? true, "A query never moves backwards.")
        return found.flatMap { $0 }
    }
}

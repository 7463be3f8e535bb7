public import TandemIO

/// The indexes of a journal's sealed segments, for whoever looks for some of its payloads.
///
/// Only a cache: where an index is missing, damaged or of another segment, the answer is that nothing is known, and the segment is
/// read. Nothing is ever written. Holds one index open at a time, and lists the directory once at most. Bound to one thread; it is for
/// one question, or one reader's life: a segment that was not sealed at its first look stays so for it.
///
///     let indexes = SegmentIndexes(directory: path, fileSystem: RealFileSystem())
///     let walk = indexes.walk(IndexQuestion(keys: [.member(33)]))
///     let next = walk.next(from: 1)
public final class SegmentIndexes {
    private let directory: String
    private let fileSystem: any FileSystem
    private var current: (positions: Range<UInt64>, index: SegmentIndex?)?
    /// The segments; nil until they were listed.
    private var sealed: SealedSegments?
    /// The work of indexes that are closed again.
    private var closedWork = 0
    /// The first positions of segments whose indexes turned out damaged, or of another segment.
    public private(set) var damaged: [UInt64] = []

    /// So much as reading so many transactions is the opening of an index: three files, and a page of each.
    static let openingWork = 8

    /// The indexes in a directory of segments; opens nothing.
    public convenience init(directory: String, fileSystem: any FileSystem) {
        self.init(directory: directory, fileSystem: fileSystem, sealed: nil)
    }

    /// The indexes of segments that are known.
    init(directory: String, fileSystem: any FileSystem, sealed: SealedSegments?) {
        self.directory = directory
        self.fileSystem = fileSystem
        self.sealed = sealed
    }

    /// What the questions so far have cost, for whoever answers in turns: 1 is about the reading of one transaction.
    ///
    /// Counts indexes opened, keys looked up and pages read; never falls.
    public var work: Int { closedWork + (current?.index?.work ?? 0) }

    /// Finds what a question may want, position by position.
    public func walk(_ question: IndexQuestion) -> IndexWalk { IndexWalk(self, question) }

    /// Whether the segment that holds a position has an index that can be used.
    public func tells(of position: UInt64) -> Bool { index(for: position) != nil }

    /// Where a batch lies at or a little before the one that holds a position; nil where no index tells.
    func place(of position: UInt64) -> (segment: UInt64, offset: UInt64)? {
        guard let index = index(for: position) else { return nil }
        let first = index.header.segment.firstPosition
        return attempt { () throws(IndexDamage) in try index.offset(of: position) }
            .flatMap { $0 }.map { (first, $0) }
    }

    /// The usable index of the sealed segment that holds a position.
    func index(for position: UInt64) -> SegmentIndex? {
        if let current, current.positions.contains(position) { return current.index }
        guard let positions = positions(holding: position) else { return nil }
        close()
        closedWork += Self.openingWork
        let index = find(positions.lowerBound, before: positions.upperBound)
        current = (positions, index)
        return index
    }

    /// The positions of the sealed segment that holds one; nil where none does.
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

    /// Asks the current index; one that is damaged is not asked again.
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

/// Tells position by position what a question may want.
public final class IndexWalk {
    private let indexes: SegmentIndexes
    private let question: IndexQuestion
    private var segment: Range<UInt64> = 0..<0
    private var asked: UInt64 = 0
    private var merge: PositionMerge?

    init(_ indexes: SegmentIndexes, _ question: IndexQuestion) {
        self.indexes = indexes
        self.question = question
    }

    /// The first position at or above one that the question may want, at most the one behind its segment; nil where nothing is
    /// known, and the payload at the position has to be read.
    ///
    /// Cost: for the first position of a segment a few pages for each key, then next to nothing.
    public func next(from position: UInt64) -> UInt64? {
        guard question.isSelective, let index = indexes.index(for: position) else { return nil }
        let found = indexes.attempt { () throws(IndexDamage) -> UInt64? in
            let positions = index.header.segment.positions
            if positions != segment || position < asked {
                merge = try index.positions(of: question)
                segment = positions
            }
            asked = position
            guard merge != nil else { return position }
            return try merge?.first(from: position) ?? positions.upperBound
        }
        // What was known of a damaged index is forgotten.
        if found == nil { segment = 0..<0 }
        return found.flatMap { $0 }
    }
}

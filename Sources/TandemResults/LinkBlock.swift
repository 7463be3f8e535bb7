import Algorithms

/// A short sorted run of links, which stores each object once with the rows that refer to it.
struct LinkBlock: Sendable {
    /// The maximum number of links.
    static let capacity = 256
    /// The number of links in a block built in bulk, which leaves room for inserts before a split.
    static let bulkFill = 224

    /// The rows of one object; they begin at the end of the previous run's rows.
    struct Run: Sendable {
        var object: UInt64
        var end: UInt32
    }

    private(set) var runs: [Run] = []
    private(set) var rows = PackedNumbers()

    /// Creates a block of sorted links, without spare capacity.
    init(_ links: ArraySlice<LinkTable.Link>) {
        rows = PackedNumbers(links.map(\.row))
        var end: UInt32 = 0
        var found: [Run] = []
        for link in links {
            end += 1
            if found.last?.object == link.object { found.removeLast() }
            found.append(Run(object: link.object, end: end))
        }
        runs.reserveCapacity(found.count)
        runs += found
        checkInvariants()
    }

    /// Asserts that runs and rows are consistent with each other; called after every change.
    private func checkInvariants() {
        assert(Int(runs.last?.end ?? 0) == rows.count, "The last run ends with the last row.")
        assert(
            !Invariants.walk(runs.count)
                || zip(runs, runs.dropFirst()).allSatisfy {
                    $0.object < $1.object && $0.end < $1.end
                },
            "Each object has one run, no run is empty, and the runs are sorted.")
    }

    /// The first link; the block must not be empty.
    var first: LinkTable.Link { LinkTable.Link(row: rows[0], object: runs[0].object) }

    /// All links.
    var links: [LinkTable.Link] {
        runs.indices.flatMap { run in
            range(run).map { LinkTable.Link(row: rows[$0], object: runs[run].object) }
        }
    }

    /// Returns the object of the link at an index.
    func object(_ at: Int) -> UInt64 { runs[run(at)].object }

    /// Returns whether any row of the block refers to an object.
    func reaches(_ object: UInt64) -> Bool {
        let run = runs.partitioningIndex { $0.object >= object }
        return run < runs.count && runs[run].object == object
    }

    /// Returns whether the block has no other link to the object of the link at an index.
    func isAlone(_ at: Int) -> Bool { range(run(at)).count == 1 }

    /// Appends the rows that refer to an object.
    func append(rowsOf object: UInt64, to all: inout [UInt64]) {
        let run = runs.partitioningIndex { $0.object >= object }
        guard run < runs.count, runs[run].object == object else { return }
        all.reserveCapacity(all.count + range(run).count)
        for at in range(run) { all.append(rows[at]) }
    }

    /// Inserts a link; returns whether the block had no link to its object before.
    mutating func insert(_ link: LinkTable.Link) -> Bool {
        let run = runs.partitioningIndex { $0.object >= link.object }
        let isNew = run == runs.count || runs[run].object != link.object
        if isNew { runs.insert(Run(object: link.object, end: start(run)), at: run) }
        rows.insert(link.row, at: range(run).partitioningIndex { rows[$0] >= link.row })
        for at in run..<runs.count { runs[at].end += 1 }
        checkInvariants()
        return isNew
    }

    /// Removes the link at an index.
    mutating func remove(_ at: Int) {
        let run = run(at)
        let isAlone = range(run).count == 1
        rows.remove(at: at)
        for later in run..<runs.count { runs[later].end -= 1 }
        if isAlone { runs.remove(at: run) }
        checkInvariants()
    }

    /// Returns the run of the link at an index.
    private func run(_ at: Int) -> Int {
        assert(at < rows.count, "The block has a link at \(at).")
        return runs.partitioningIndex { $0.end > UInt32(at) }
    }

    private func start(_ run: Int) -> UInt32 { run == 0 ? 0 : runs[run - 1].end }

    private func range(_ run: Int) -> Range<Int> { Int(start(run))..<Int(runs[run].end) }
}

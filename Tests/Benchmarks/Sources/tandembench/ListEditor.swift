import FoundationEssentials

/// One content object in a hand-maintained list.
struct ListRow: Equatable {
    /// The id, from 1.
    var id: Int
    var name: String
    var creationDate: Double
    var isEven: Bool
    var size: Int
    /// The index of the bucket, from 0.
    var bucket: Int

    /// Returns whether this row sorts before another in the same section.
    @inline(__always)
    func precedes(_ other: ListRow) -> Bool {
        if creationDate != other.creationDate { return creationDate > other.creationDate }
        if name != other.name { return name < other.name }
        return id < other.id
    }

    /// Returns whether another state of the row has the same section and sort key.
    @inline(__always)
    func isInPlace(_ other: ListRow) -> Bool {
        bucket == other.bucket && creationDate == other.creationDate && name == other.name
    }
}

/// The change of one row: an insertion has no old row, a deletion no new one.
struct ListRowChange {
    var old: ListRow?
    var new: ListRow?
}

/// The current rows, and batches of changes to them.
///
/// Out of a hundred changes, 40 are updates in place, 15 change the section, 15 change the date, 15
/// are insertions, and 15 are deletions.
struct ListEditor {
    private(set) var rows: [Int: ListRow] = [:]
    let bucketNames: [String]
    private var ids: [Int]
    private var nextID: Int
    private var random = SplitMix64(43)

    /// Creates an editor of the bench data; in a single section if `isSingle`.
    init(_ data: BenchData, isSingle: Bool) {
        bucketNames = isSingle ? [data.bucketNames[0]] : data.bucketNames
        for (at, content) in data.contents.enumerated() {
            rows[at + 1] = ListRow(
                id: at + 1, name: content.name, creationDate: content.creationDate,
                isEven: content.size % 2 == 0, size: content.size,
                bucket: isSingle ? 0 : content.bucket)
        }
        ids = Array(1...data.contents.count)
        nextID = data.contents.count + 1
    }

    /// Changes `count` different rows.
    mutating func batch(_ count: Int) -> [ListRowChange] {
        var changes: [ListRowChange] = []
        var touched: Set<Int> = []
        while changes.count < count {
            let dice = random.below(100)
            if (70..<85).contains(dice) {
                changes.append(insertion(&touched))
                continue
            }
            let slot = random.below(ids.count)
            let id = ids[slot]
            guard touched.insert(id).inserted, let old = rows[id] else { continue }
            if dice >= 85 {
                ids.swapAt(slot, ids.count - 1)
                ids.removeLast()
                rows[id] = nil
                changes.append(ListRowChange(old: old, new: nil))
                continue
            }
            let new = changed(old, dice)
            rows[id] = new
            changes.append(ListRowChange(old: old, new: new))
        }
        return changes
    }

    private mutating func insertion(_ touched: inout Set<Int>) -> ListRowChange {
        let name = String(random.next() & 0xFFFF_FFFF_FFFF, radix: 16)
        let size = random.below(1_048_576)
        let row = ListRow(
            id: nextID,
            name: "content-" + String(repeating: "0", count: 12 - name.count) + name,
            creationDate: 1_600_000_000 + Double(random.below(1_000_000)), isEven: size % 2 == 0,
            size: size, bucket: random.below(bucketNames.count))
        nextID += 1
        touched.insert(row.id)
        ids.append(row.id)
        rows[row.id] = row
        return ListRowChange(old: nil, new: row)
    }

    private mutating func changed(_ old: ListRow, _ dice: Int) -> ListRow {
        var new = old
        if dice < 40 {
            new.size = old.size + 1
            new.isEven.toggle()
        } else if dice < 55, bucketNames.count > 1 {
            let other = random.below(bucketNames.count - 1)
            new.bucket = other < old.bucket ? other : other + 1
        } else {
            new.creationDate = 1_600_000_000 + Double(random.below(1_000_000))
            if new.creationDate == old.creationDate { new.creationDate += 1 }
        }
        return new
    }

    /// Returns the names and ids of the sections, sorted from scratch.
    func sections() -> [(name: String, ids: [Int])] {
        let sorted = rows.values.sorted {
            $0.bucket == $1.bucket
                ? $0.precedes($1) : bucketNames[$0.bucket] < bucketNames[$1.bucket]
        }
        var sections: [(name: String, ids: [Int])] = []
        var last = -1
        for row in sorted {
            if row.bucket != last { sections.append((bucketNames[row.bucket], [])) }
            last = row.bucket
            sections[sections.count - 1].ids.append(row.id)
        }
        return sections
    }
}

/// One edit on its way through a store: what stood where before, what stands where after, and the
/// change that follows; cost O(k log n) for k edited rows, however long the list is.
///
/// A row is *loose* if its sort key, section or entity differs, or if it comes or goes; all other
/// rows are in order with each other before and after. A section is loose if all its rows were.
struct ListStep {
    struct Spot {
        var slot: Int
        var path: ResultsIndexPath
    }

    struct Mark {
        var number: UInt64
        var tag: UInt16
        var from: Spot?
        var to: Spot?
        var isLoose: Bool
        var stays = false
        /// The next loose mark that came from, or goes to, the same section; none if negative.
        var nextOld = -1
        var nextNew = -1
    }

    /// What the edit did to one section.
    struct Touched {
        var slot: Int
        var oldIndex: Int?
        var oldCount = 0
        var newIndex: Int?
        /// How many loose rows were in it, and the last of their marks.
        var olds = 0
        var lastOld = -1
        /// How many are, and the last of their marks.
        var news = 0
        var lastNew = -1
        /// How many of them are both.
        var pairs = 0
        var stays = false

        var isLoose: Bool { oldIndex != nil && newIndex != nil && olds == oldCount }
    }

    /// A row as it was.
    private struct Before {
        var number: UInt64
        var tag: UInt16
        var slot: Int
        var keyEnd: Int
    }

    var marks: [Mark] = []
    var touched: [Touched] = []
    /// Where the sections are in `touched`, by slot, once they are more than a look finds.
    private var touchedAt: [Int: Int] = [:]
    /// The loose rows as they were, to undo the edit; only sections can be out of order.
    private var before: [Before] = []
    private var keysBefore: [UInt8] = []
    private let edit: NetEdits

    /// Carries an edit out.
    init(_ edit: NetEdits, on rows: inout RowStore) {
        self.edit = edit
        noteBefore(&rows)
        for mark in marks where mark.isLoose && mark.from != nil {
            if let place = rows.place(of: mark.number) { rows.remove(at: place) }
        }
        for (row, mark) in zip(edit.upserted, marks) where mark.isLoose { rows.insert(row) }
    }

    /// Takes the edit back.
    func undo(on rows: inout RowStore) {
        for (row, mark) in zip(edit.upserted, marks) where mark.isLoose {
            if let place = rows.place(of: row.number) { rows.remove(at: place) }
        }
        var start = 0
        for row in before {
            let key = Array(keysBefore[start..<row.keyEnd])
            start = row.keyEnd
            rows.insert(
                ResultRow(
                    number: row.number, entityTag: row.tag, sortKey: key,
                    section: rows.sections[row.slot].name))
        }
        rows.forgetEmptySections()
    }

    /// Marks begin with those of the upserted rows, in their order.
    private mutating func noteBefore(_ rows: inout RowStore) {
        marks.reserveCapacity(edit.upserted.count + edit.leaving.count)
        for row in edit.upserted {
            var mark = Mark(
                number: row.number, tag: row.entityTag, from: nil, to: nil, isLoose: true)
            if let place = rows.place(of: row.number) {
                mark.isLoose = !rows.holds(row, at: place)
                mark.from = noteOld(place, isLoose: mark.isLoose, &rows)
            }
            marks.append(mark)
        }
        for number in edit.leaving {
            guard let place = rows.place(of: number) else { continue }
            let tag = rows.leaves[place.leaf].tag(place.at)
            let from = noteOld(place, isLoose: true, &rows)
            marks.append(Mark(number: number, tag: tag, from: from, to: nil, isLoose: true))
        }
    }

    private mutating func noteOld(
        _ place: RowStore.Place, isLoose: Bool, _ rows: inout RowStore
    ) -> Spot {
        let index = rows.hintedIndex(of: place.slot)
        let item = rows.item(of: place)
        let at = touch(place.slot)
        touched[at].oldIndex = index
        touched[at].oldCount = rows.sections[place.slot].count
        if isLoose {
            touched[at].olds += 1
            if rows.isSectioned { keep(place, rows) }
        }
        return Spot(slot: place.slot, path: ResultsIndexPath(section: index, item: item))
    }

    /// Notes where everything stands after the edit.
    mutating func noteAfter(_ rows: inout RowStore) {
        for at in edit.upserted.indices {
            guard let place = rows.place(of: marks[at].number) else { continue }
            let index = rows.hintedIndex(of: place.slot)
            let path = ResultsIndexPath(section: index, item: rows.item(of: place))
            marks[at].to = Spot(slot: place.slot, path: path)
            let section = touch(place.slot)
            guard marks[at].isLoose else { continue }
            touched[section].news += 1
            marks[at].nextNew = touched[section].lastNew
            touched[section].lastNew = at
            if let from = marks[at].from, from.slot == place.slot { touched[section].pairs += 1 }
        }
        for at in marks.indices where marks[at].isLoose {
            guard let slot = marks[at].from?.slot else { continue }
            let section = touch(slot)
            marks[at].nextOld = touched[section].lastOld
            touched[section].lastOld = at
        }
        for at in touched.indices {
            let slot = touched[at].slot
            let isThere = rows.sections[slot].count > 0 || !rows.isSectioned
            touched[at].newIndex = isThere ? rows.hintedIndex(of: slot) : nil
            if !rows.isSectioned { touched[at].oldIndex = 0 }
            // A section that was there before although none of the edited rows was in it.
            if touched[at].oldIndex == nil && rows.sections[slot].count > touched[at].news {
                touched[at].oldIndex = touched[at].newIndex
                touched[at].oldCount = rows.sections[slot].count
            }
        }
    }

    private mutating func keep(_ place: RowStore.Place, _ rows: RowStore) {
        rows.withLeaf(place.leaf) { leaf in
            leaf.withKey(place.at) { key in
                keysBefore.append(contentsOf: key.head)
                keysBefore.append(contentsOf: key.tail)
            }
            before.append(
                Before(
                    number: leaf.number(place.at), tag: leaf.tag(place.at), slot: place.slot,
                    keyEnd: keysBefore.count))
        }
    }

    private mutating func touch(_ slot: Int) -> Int {
        let at = touched.count
        if at <= ListStep.few {
            for known in touched.indices where touched[known].slot == slot { return known }
        } else if let known = touchedAt[slot] {
            return known
        }
        touched.append(Touched(slot: slot))
        if at == ListStep.few {
            for known in touched.indices { touchedAt[touched[known].slot] = known }
        } else if at > ListStep.few {
            touchedAt[slot] = at
        }
        return at
    }

    /// Sections up to which looking through them beats hashing.
    private static let few = 8
}

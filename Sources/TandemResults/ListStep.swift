/// One edit of a row store: the locations of the edited rows before and after, and the resulting
/// change.
///
/// Cost: O(k log n) for k edited rows in a list of n rows. A row is *loose* (movable) if its sort
/// key, section or entity differs, or if it is inserted or deleted. All other rows are in order
/// with each other both before and after the edit. A section is loose if all the rows that it had
/// before the edit are.
struct ListStep {
    struct RowLocation {
        var slot: Int
        var path: ResultsIndexPath
    }

    struct RowMove {
        var number: UInt64
        var tag: UInt16
        var from: RowLocation?
        var to: RowLocation?
        var isLoose: Bool
        /// Whether a movable row stays in place between its neighbours.
        var stays = false
        /// The index of the next movable mark with the same section before the edit; negative if
        /// there is none.
        var nextOld = -1
        var nextNew = -1
    }

    /// The effect of the edit on one section.
    struct Touched {
        var slot: Int
        var oldIndex: Int?
        var oldCount = 0
        var newIndex: Int?
        /// The number of movable rows that were in the section before the edit, and the last of
        /// their marks.
        var olds = 0
        var lastOld = -1
        /// The number of movable rows that are in the section after the edit, and the last of their
        /// marks.
        var news = 0
        var lastNew = -1
        /// The number of movable rows that are in the section both before and after the edit.
        var pairs = 0
        var stays = false

        var isLoose: Bool { oldIndex != nil && newIndex != nil && olds == oldCount }
    }

    /// A row before the edit.
    private struct Before {
        var number: UInt64
        var tag: UInt16
        var slot: Int
        var keyEnd: Int
    }

    var marks: [RowMove] = []
    var touched: [Touched] = []
    /// The sections whose first or last row is new; only these can overlap their neighbours.
    private(set) var widened: [Int] = []
    /// The number of leading marks whose rows are in the list afterwards.
    private var staying = 0
    /// The movable rows before the edit, for undoing it; recorded only in a list with sections,
    /// because a list without sections is always in order.
    private var before: [Before] = []
    private var keysBefore: [UInt8] = []
    private let edit: NetEdits

    /// Applies an edit.
    init(_ edit: NetEdits, on rows: inout RowStore) {
        self.edit = edit
        recordBefore(&rows)
        for mark in marks where mark.isLoose && mark.from != nil {
            guard let place = rows.locationRecordingHint(of: mark.number) else {
                assertionFailure("A row that was in the list is removed once.")
                continue
            }
            rows.remove(at: place)
        }
        for at in edit.upserted.indices where marks[at].isLoose { rows.insert(edit.upserted[at]) }
    }

    /// Undoes the edit.
    func undo(on rows: inout RowStore) {
        for (row, mark) in zip(edit.upserted, marks) where mark.isLoose {
            if let place = rows.location(of: row.number) { rows.remove(at: place) }
        }
        var start = 0
        for row in before {
            let key = Array(keysBefore[start..<row.keyEnd])
            start = row.keyEnd
            rows.insert(
                ResultRow(
                    number: row.number, entityTag: row.tag, sortKey: key,
                    section: rows.name(of: row.slot)))
        }
        assert(start == keysBefore.count, "Every key that was kept is restored.")
        rows.forgetEmptySections()
    }

    /// Records the state before the edit: the marks of upserted rows in order, then those of
    /// unmoved rows, then those of leaving rows.
    private mutating func recordBefore(_ rows: inout RowStore) {
        marks.reserveCapacity(edit.count)
        touched.reserveCapacity(min(2 * edit.count, 2 * ListStep.few))
        for at in edit.upserted.indices {
            let (number, tag) = (edit.upserted[at].number, edit.upserted[at].entityTag)
            var mark = RowMove(number: number, tag: tag, isLoose: true)
            if let place = rows.locationRecordingHint(of: number) {
                mark.isLoose = !rows.holds(edit.upserted[at], at: place)
                mark.from = recordOld(place, isLoose: mark.isLoose, &rows)
            }
            marks.append(mark)
        }
        for number in edit.unmoved { recordHeld(number, isLoose: false, &rows) }
        assert(marks.count >= edit.upserted.count, "The marks of upserted rows come first.")
        staying = marks.count
        for number in edit.leaving { recordHeld(number, isLoose: true, &rows) }
    }

    /// Records a row by its number, if the row is in the list.
    private mutating func recordHeld(_ number: UInt64, isLoose: Bool, _ rows: inout RowStore) {
        guard let place = rows.locationRecordingHint(of: number) else { return }
        var mark = RowMove(
            number: number, tag: rows.withLeaf(place.leaf) { $0.tag(place.at) }, isLoose: isLoose)
        mark.from = recordOld(place, isLoose: isLoose, &rows)
        marks.append(mark)
    }

    private mutating func recordOld(
        _ place: RowStore.LeafLocation, isLoose: Bool, _ rows: inout RowStore
    ) -> RowLocation {
        let index = rows.sectionIndexRecordingHint(of: place.slot)
        let item = rows.item(of: place)
        let at = touch(place.slot, &rows)
        touched[at].oldIndex = index
        touched[at].oldCount = rows.count(of: place.slot)
        if isLoose {
            touched[at].olds += 1
            if rows.isSectioned { keep(place, rows) }
        }
        return RowLocation(slot: place.slot, path: ResultsIndexPath(section: index, item: item))
    }

    /// Records the locations after the edit.
    mutating func recordAfter(_ rows: inout RowStore) {
        for at in 0..<staying {
            guard let place = rows.locationRecordingHint(of: marks[at].number) else {
                assertionFailure("A row that enters or stays is in the list after the edit.")
                continue
            }
            let index = rows.sectionIndexRecordingHint(of: place.slot)
            let path = ResultsIndexPath(section: index, item: rows.item(of: place))
            marks[at].to = RowLocation(slot: place.slot, path: path)
            let section = touch(place.slot, &rows)
            if marks[at].isLoose {
                recordNew(at, path.item, section, rows.count(of: place.slot))
            }
        }
        for at in marks.indices where marks[at].isLoose {
            guard let slot = marks[at].from?.slot else { continue }
            let section = touch(slot, &rows)
            marks[at].nextOld = touched[section].lastOld
            touched[section].lastOld = at
        }
        for at in touched.indices {
            let slot = touched[at].slot
            assert(
                touched[at].olds <= touched[at].oldCount,
                "No more rows were movable than the section had.")
            assert(
                touched[at].news <= rows.count(of: slot),
                "No more rows are movable than the section has.")
            let isThere = rows.count(of: slot) > 0 || !rows.isSectioned
            touched[at].newIndex = isThere ? rows.sectionIndexRecordingHint(of: slot) : nil
            if !rows.isSectioned { touched[at].oldIndex = 0 }
            // The section existed before, although none of the edited rows was in it.
            if touched[at].oldIndex == nil && rows.count(of: slot) > touched[at].news {
                touched[at].oldIndex = touched[at].newIndex
                touched[at].oldCount = rows.count(of: slot)
            }
        }
    }

    /// Records a movable row of a section that now has `count` rows.
    private mutating func recordNew(_ at: Int, _ item: Int, _ section: Int, _ count: Int) {
        let slot = touched[section].slot
        touched[section].news += 1
        marks[at].nextNew = touched[section].lastNew
        touched[section].lastNew = at
        if marks[at].from?.slot == slot { touched[section].pairs += 1 }
        assert(
            touched[section].pairs <= touched[section].olds,
            "Pairs are among the rows that were in the section.")
        if item == 0 || item == count - 1 { widened.append(slot) }
    }

    private mutating func keep(_ place: RowStore.LeafLocation, _ rows: RowStore) {
        if before.isEmpty {
            before.reserveCapacity(edit.count)
            keysBefore.reserveCapacity(64 * edit.count)
        }
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

    /// Returns the index of a section in `touched`, adding it if necessary.
    ///
    /// The index is recorded in the section if there are too many sections for a linear search.
    private mutating func touch(_ slot: Int, _ rows: inout RowStore) -> Int {
        let count = touched.count
        for known in 0..<min(count, ListStep.few) where touched[known].slot == slot {
            return known
        }
        if count > ListStep.few {
            let guess = rows.touchedHint(of: slot)
            if guess < count, touched[guess].slot == slot { return guess }
        }
        if count >= ListStep.few { rows.setTouchedHint(count, of: slot) }
        touched.append(Touched(slot: slot))
        return count
    }

    /// The number of sections up to which a linear search is faster than recorded indexes.
    private static let few = 8
}

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
    }

    /// What the edit did to one section.
    struct Touched {
        var slot: Int
        var name: String
        var oldIndex: Int?
        var oldCount = 0
        var newIndex: Int?
        var olds: [Int] = []
        var news: [Int] = []
        var pairs: [LoosePair] = []
        var marks: [Int] = []
        var stays = false

        var isLoose: Bool { oldIndex != nil && newIndex != nil && olds.count == oldCount }
    }

    var marks: [Mark] = []
    var touched: [Touched] = []
    private var touchedAt: [Int: Int] = [:]
    /// The loose rows as they were, to undo the edit.
    private var before: [ResultRow] = []
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
        for row in before { rows.insert(row) }
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
            let tag = rows.leaves[place.leaf].entries[place.at].tag
            let from = noteOld(place, isLoose: true, &rows)
            marks.append(Mark(number: number, tag: tag, from: from, to: nil, isLoose: true))
        }
    }

    private mutating func noteOld(
        _ place: RowStore.Place, isLoose: Bool, _ rows: inout RowStore
    ) -> Spot {
        let index = rows.hintedIndex(of: place.slot)
        let item = rows.item(of: place)
        let at = touch(place.slot, rows)
        touched[at].oldIndex = index
        touched[at].oldCount = rows.sections[place.slot].count
        if isLoose {
            touched[at].olds.append(item)
            before.append(rows.row(at: place))
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
            let section = touch(place.slot, rows)
            guard marks[at].isLoose else { continue }
            touched[section].news.append(path.item)
            guard let from = marks[at].from, from.slot == place.slot else { continue }
            touched[section].pairs.append(LoosePair(old: from.path.item, new: path.item))
            touched[section].marks.append(at)
        }
        for at in touched.indices {
            let slot = touched[at].slot
            let isThere = rows.sections[slot].count > 0 || !rows.isSectioned
            touched[at].newIndex = isThere ? rows.hintedIndex(of: slot) : nil
            if !rows.isSectioned { touched[at].oldIndex = 0 }
            // A section that was there before although none of the edited rows was in it.
            if touched[at].oldIndex == nil && rows.sections[slot].count > touched[at].news.count {
                touched[at].oldIndex = touched[at].newIndex
                touched[at].oldCount = rows.sections[slot].count
            }
        }
    }

    private mutating func touch(_ slot: Int, _ rows: RowStore) -> Int {
        if let at = touchedAt[slot] { return at }
        touched.append(Touched(slot: slot, name: rows.sections[slot].name))
        touchedAt[slot] = touched.count - 1
        return touched.count - 1
    }

    /// The change, once everything is noted.
    mutating func change(_ reasons: [UInt64: ChangeReason]) -> ResultsChange {
        chooseSections()
        for section in touched where section.stays {
            let kept = stayingPairs(section.pairs, olds: section.olds, news: section.news)
            for (at, stays) in zip(section.marks, kept) { marks[at].stays = stays }
        }
        var said: [UInt64: ChangeReason] = [:]
        if !reasons.isEmpty {
            for mark in marks where mark.to != nil { said[mark.number] = reasons[mark.number] }
        }
        return ResultsChange(
            sections: touched.flatMap(\.changes), objects: marks.compactMap(\.change),
            reasons: said)
    }

    /// Decides which sections stay: those with a row that isn't loose must, and then as many of the
    /// others as are in order.
    private mutating func chooseSections() {
        let loose = touched.indices.filter { touched[$0].isLoose }
        for at in touched.indices where touched[at].oldIndex != nil {
            touched[at].stays = touched[at].newIndex != nil && !touched[at].isLoose
        }
        let moving = touched.filter { !$0.stays }
        let pairs = loose.map { at in
            LoosePair(old: touched[at].oldIndex ?? 0, new: touched[at].newIndex ?? 0)
        }
        let kept = stayingPairs(
            pairs, olds: moving.compactMap(\.oldIndex), news: moving.compactMap(\.newIndex))
        for (at, stays) in zip(loose, kept) { touched[at].stays = stays }
    }
}

extension ListStep.Touched {
    fileprivate var changes: [ResultsChange.SectionChange] {
        if stays { return [] }
        var changes: [ResultsChange.SectionChange] = []
        if let oldIndex { changes.append(.delete(index: oldIndex, name: name)) }
        if let newIndex { changes.append(.insert(index: newIndex, name: name)) }
        return changes
    }
}

extension ListStep.Mark {
    fileprivate var change: ResultsChange.ObjectChange? {
        switch (from?.path, to?.path) {
        case (nil, nil): nil
        case (nil, let to?): .insert(number: number, tag: tag, to: to)
        case (let from?, nil): .delete(number: number, tag: tag, from: from)
        case (let from?, let to?):
            isLoose && !stays
                ? .move(number: number, tag: tag, from: from, to: to)
                : .update(number: number, tag: tag, from: from, to: to)
        }
    }
}

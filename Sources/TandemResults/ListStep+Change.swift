extension ListStep {
    /// Returns the change; called after ``recordAfter(_:)``.
    ///
    /// The store must not yet have freed the sections that the edit emptied.
    mutating func change(_ reasons: [UInt64: ChangeReason], _ rows: RowStore) -> ResultsChange {
        chooseSections()
        for section in touched where section.stays && section.pairs > 0 { chooseRows(of: section) }
        var sections: [ResultsChange.SectionChange] = []
        for section in touched where !section.stays {
            sections += section.changes(rows.name(of: section.slot))
        }
        var objects: [ResultsChange.ObjectChange] = []
        objects.reserveCapacity(marks.count)
        for mark in marks { if let change = mark.change { objects.append(change) } }
        return ResultsChange(
            sections: sections, objects: objects, reasons: reasonsOfRemaining(reasons))
    }

    /// Returns the reasons for the rows that are in the list after the edit, usually all of them.
    private func reasonsOfRemaining(_ reasons: [UInt64: ChangeReason]) -> [UInt64: ChangeReason] {
        if reasons.isEmpty { return [:] }
        let known = marks.count { $0.to != nil && reasons[$0.number] != nil }
        if known == reasons.count { return reasons }
        var remaining: [UInt64: ChangeReason] = [:]
        for mark in marks where mark.to != nil { remaining[mark.number] = reasons[mark.number] }
        return remaining
    }

    /// Decides which movable rows stay in place within a section that stays.
    private mutating func chooseRows(of section: Touched) {
        if section.olds == 1, section.news == 1 {
            // No other row was removed or inserted, so the gap equals the index.
            let mark = section.lastNew
            marks[mark].stays = marks[mark].from?.path.item == marks[mark].to?.path.item
            return
        }
        var (olds, news, pairs, paired) = ([Int](), [Int](), [MovablePair](), [Int]())
        olds.reserveCapacity(section.olds)
        news.reserveCapacity(section.news)
        var at = section.lastOld
        while at >= 0 {
            if let from = marks[at].from { olds.append(from.path.item) }
            at = marks[at].nextOld
        }
        at = section.lastNew
        while at >= 0 {
            if let to = marks[at].to {
                news.append(to.path.item)
                if let from = marks[at].from, from.slot == section.slot {
                    pairs.append(MovablePair(old: from.path.item, new: to.path.item))
                    paired.append(at)
                }
            }
            at = marks[at].nextNew
        }
        let kept = stayingPairs(pairs, olds: olds, news: news)
        for (at, stays) in zip(paired, kept) { marks[at].stays = stays }
    }

    /// Decides which sections stay.
    ///
    /// Sections with a row that is not movable must stay. A longest run of the other sections that
    /// is in order with them also stays.
    private mutating func chooseSections() {
        let loose = touched.indices.filter { touched[$0].isLoose }
        for at in touched.indices where touched[at].oldIndex != nil {
            touched[at].stays = touched[at].newIndex != nil && !touched[at].isLoose
        }
        if touched.allSatisfy(\.stays) { return }
        let moving = touched.filter { !$0.stays }
        let pairs = loose.map { at in
            MovablePair(old: touched[at].oldIndex ?? 0, new: touched[at].newIndex ?? 0)
        }
        let kept = stayingPairs(
            pairs, olds: moving.compactMap(\.oldIndex), news: moving.compactMap(\.newIndex))
        for (at, stays) in zip(loose, kept) { touched[at].stays = stays }
    }
}

extension ListStep.Touched {
    fileprivate func changes(_ name: String) -> [ResultsChange.SectionChange] {
        var changes: [ResultsChange.SectionChange] = []
        if let oldIndex { changes.append(.delete(index: oldIndex, name: name)) }
        if let newIndex { changes.append(.insert(index: newIndex, name: name)) }
        return changes
    }
}

extension ListStep.RowMove {
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

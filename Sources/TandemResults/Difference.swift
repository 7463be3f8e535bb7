extension ResultsChange {
    /// Returns the change from one state of the sections to another, or nil if there is none.
    ///
    /// The method is used after refetches, reconnects, several transactions at once, and
    /// recovery from a failure. The rules are the same as for an edit. Numbers in `changed` that
    /// occur in both states are reported once: as moves if they are out of order with the rest,
    /// otherwise as updates. Other numbers are reported only if they are inserted or deleted, or if
    /// they are out of order with each other, as after a change of the sort order. Cost: O(n log n)
    /// at worst, O(n) usually.
    ///
    /// - Parameters:
    ///   - old: The sections before; no name and no number occurs twice.
    ///   - new: The sections after; no name and no number occurs twice.
    ///   - changed: The numbers of changed rows.
    ///   - pinned: The numbers in `changed` with unchanged sort key and section. Their rows are
    ///     reported as moves only under the conditions for unchanged rows.
    ///   - reasons: The reasons for changes, by number.
    ///   - tag: Returns the entity tag of a number in either state.
    /// - Returns: The change, or nil if there is nothing to report.
    @usableFromInline package static func between(
        old: [SectionIDs], new: [SectionIDs], changed: Set<UInt64>, pinned: Set<UInt64> = [],
        reasons: [UInt64: ChangeReason] = [:], tag: (UInt64) -> UInt16 = { _ in 0 }
    ) -> ResultsChange? {
        var difference = Difference(old: old, new: new)
        difference.isMovable = { changed.contains($0) && !pinned.contains($0) }
        difference.chooseSections()
        difference.chooseRows()
        let objects = difference.objects(changed: changed, tag: tag)
        if objects.isEmpty && difference.sectionChanges.isEmpty { return nil }
        var remaining: [UInt64: ChangeReason] = [:]
        for case let object in objects where object.to != nil && !reasons.isEmpty {
            remaining[object.number] = reasons[object.number]
        }
        return ResultsChange(
            sections: difference.sectionChanges, objects: objects, reasons: remaining)
    }

    /// Returns the net effect of this change and the next one, or nil if there is none.
    ///
    /// A row that was deleted and inserted again counts as changed. Cost: O(n).
    ///
    /// - Parameters:
    ///   - next: The next change.
    ///   - old: The sections before this change.
    /// - Returns: The change from `old` to the state after both changes; nil if they cancel out.
    /// - Throws: `ReplayError` if the changes don't fit `old` or each other.
    package func merging(
        _ next: ResultsChange, from old: [SectionIDs]
    ) throws(ReplayError) -> ResultsChange? {
        let new = try next.apply(to: try apply(to: old))
        var tags: [UInt64: UInt16] = [:]
        for object in objects + next.objects { tags[object.number] = object.tag }
        return .between(
            old: old, new: new, changed: Set(tags.keys),
            reasons: reasons.merging(next.reasons) { $0.union($1) }, tag: { tags[$0] ?? 0 })
    }
}

/// The state of a comparison of two lists.
private struct Difference {
    let old: [SectionIDs]
    let new: [SectionIDs]
    var oldPaths: [UInt64: ResultsIndexPath]
    var newPaths: [UInt64: ResultsIndexPath]
    let oldNames: [String: Int]
    let newNames: [String: Int]
    /// Returns whether a row is movable: its sort key or section may have changed.
    ///
    /// Rows that are not movable stay as far as they are in order with each other.
    var isMovable: (UInt64) -> Bool = { _ in false }
    /// The names of the sections that are neither deleted nor inserted.
    var staying: Set<String> = []
    /// The rows of the sections in `staying` that are not moved.
    var resting: Set<UInt64> = []

    init(old: [SectionIDs], new: [SectionIDs]) {
        self.old = old
        self.new = new
        oldPaths = old.paths
        newPaths = new.paths
        oldNames = old.indexByName
        newNames = new.indexByName
    }

    /// Returns whether a row that was in the section with a name is still in it after the change.
    private func staysInSection(_ number: UInt64, named name: String) -> Bool {
        newPaths[number].map { new[$0.section].name == name } ?? false
    }

    mutating func chooseSections() {
        let survivors = old.filter { newNames[$0.name] != nil }
        let firm = survivors.map { section in
            section.numbers.contains { !isMovable($0) && staysInSection($0, named: section.name) }
        }
        let kept = stayingElements(survivors.map { newNames[$0.name] ?? 0 }, mandatory: firm)
        for (section, stays) in zip(survivors, kept) where stays { staying.insert(section.name) }
    }

    mutating func chooseRows() {
        for section in old where staying.contains(section.name) {
            let common = section.numbers.filter { staysInSection($0, named: section.name) }
            let kept = stayingElements(
                common.map { newPaths[$0]?.item ?? 0 }, mandatory: common.map { !isMovable($0) })
            for (number, stays) in zip(common, kept) where stays { resting.insert(number) }
        }
    }

    var sectionChanges: [ResultsChange.SectionChange] {
        let deletes = old.enumerated().filter { !staying.contains($1.name) }
            .map { ResultsChange.SectionChange.delete(index: $0, name: $1.name) }
        let inserts = new.enumerated().filter { !staying.contains($1.name) }
            .map { ResultsChange.SectionChange.insert(index: $0, name: $1.name) }
        return deletes + inserts
    }

    func objects(
        changed: Set<UInt64>, tag: (UInt64) -> UInt16
    ) -> [ResultsChange.ObjectChange] {
        var changes: [ResultsChange.ObjectChange] = []
        for number in old.lazy.flatMap(\.numbers) {
            guard let from = oldPaths[number] else { continue }
            guard let to = newPaths[number] else {
                changes.append(.delete(number: number, tag: tag(number), from: from))
                continue
            }
            if !resting.contains(number) {
                changes.append(.move(number: number, tag: tag(number), from: from, to: to))
            } else if changed.contains(number) {
                changes.append(.update(number: number, tag: tag(number), from: from, to: to))
            }
        }
        for number in new.lazy.flatMap(\.numbers) where oldPaths[number] == nil {
            guard let to = newPaths[number] else { continue }
            changes.append(.insert(number: number, tag: tag(number), to: to))
        }
        return changes
    }
}

extension [SectionIDs] {
    fileprivate var indexByName: [String: Int] {
        var indexes: [String: Int] = [:]
        for (index, section) in enumerated() {
            precondition(
                indexes.updateValue(index, forKey: section.name) == nil,
                "Section \"\(section.name)\" occurs twice.")
        }
        return indexes
    }

    fileprivate var paths: [UInt64: ResultsIndexPath] {
        var paths: [UInt64: ResultsIndexPath] = [:]
        paths.reserveCapacity(reduce(0) { $0 + $1.numbers.count })
        for (section, ids) in enumerated() {
            for (item, number) in ids.numbers.enumerated() {
                let path = ResultsIndexPath(section: section, item: item)
                precondition(
                    paths.updateValue(path, forKey: number) == nil,
                    "Object \(number) occurs twice.")
            }
        }
        return paths
    }
}

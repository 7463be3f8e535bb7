/// The identifiers of a list, with those whose contents have to be read again.
package struct ResultsSnapshot: Hashable, Sendable {
    /// The sections by name, with the numbers of their objects.
    package var sections: [SectionIDs]
    /// All objects that changed and were in the list before, including moved ones.
    package var reloaded: [UInt64]

    /// Creates a snapshot.
    package init(sections: [SectionIDs], reloaded: [UInt64] = []) {
        self.sections = sections
        self.reloaded = reloaded
    }
}

extension SectionedList {
    /// Returns the shown rows as a snapshot, with the objects that a change reloads; cost: O(n).
    package func snapshot(after change: ResultsChange? = nil) -> ResultsSnapshot {
        ResultsSnapshot(sections: sectionIDs, reloaded: change?.reloaded ?? [])
    }
}

extension ResultsChange {
    /// The change with a delete and an insert for every move.
    ///
    /// For views that reject moves out of a deleted section or into an inserted one.
    package var movesAsDeletesAndInserts: ResultsChange {
        let parts = objects.flatMap { change -> [ObjectChange] in
            guard case .move(let number, let tag, let from, let to) = change else {
                return [change]
            }
            return [
                .delete(number: number, tag: tag, from: from),
                .insert(number: number, tag: tag, to: to),
            ]
        }
        return ResultsChange(sections: sections, objects: parts, reasons: reasons)
    }

    /// The change of a list without sections as the standard library's difference of its numbers.
    ///
    /// A move is a removal and an insertion that are associated with each other. Updates are
    /// omitted here, and are in `reloaded`; the difference is empty if there are only updates. The
    /// result is nil if the change affects sections, or rows in a section other than the first.
    package var collectionDifference: CollectionDifference<UInt64>? {
        guard sections.isEmpty else { return nil }
        var changes: [CollectionDifference<UInt64>.Change] = []
        for object in objects {
            guard (object.from?.section ?? 0, object.to?.section ?? 0) == (0, 0) else { return nil }
            if case .update = object { continue }
            if let from = object.from {
                changes.append(
                    .remove(
                        offset: from.item, element: object.number, associatedWith: object.to?.item))
            }
            if let to = object.to {
                changes.append(
                    .insert(
                        offset: to.item, element: object.number, associatedWith: object.from?.item))
            }
        }
        return CollectionDifference(changes)
    }
}

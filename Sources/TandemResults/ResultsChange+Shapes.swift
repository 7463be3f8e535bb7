/// The identifiers of a list's sections and objects, and the objects to reload.
package struct ResultsSnapshot: Hashable, Sendable {
    /// The sections by name, with the numbers of their objects.
    package var sections: [SectionIDs]
    /// The objects to reload: all that changed and were already in the list, including moved ones.
    package var reloaded: [UInt64]

    /// Creates a snapshot.
    package init(sections: [SectionIDs], reloaded: [UInt64] = []) {
        self.sections = sections
        self.reloaded = reloaded
    }
}

extension SectionedList {
    /// Returns a snapshot of the shown rows, with the objects to reload after a change; cost: O(n).
    package func snapshot(after change: ResultsChange? = nil) -> ResultsSnapshot {
        ResultsSnapshot(sections: sectionIDs, reloaded: change?.reloaded ?? [])
    }
}

extension ResultsChange {
    /// The change with a delete and an insert for every move.
    ///
    /// Use it for views that reject moves out of a deleted section or into an inserted one.
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

    /// The change as a collection difference of object numbers, for a list without sections.
    ///
    /// A move is a removal and an insertion that are associated with each other. Updates are not
    /// part of the difference, but of a snapshot's ``ResultsSnapshot/reloaded``. The result is nil
    /// if the change affects sections, or rows in a section other than the first.
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

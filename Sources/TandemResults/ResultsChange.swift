/// A change of a controller's sections: a value that can be sent, stored, merged and replayed.
///
/// The index spaces are those of a table's batch update. Deletes, updates and the sources of moves
/// refer to the state before the change; inserts and the targets of moves refer to the state after
/// it. An object occurs at most once.
///
/// The order is fixed. `sections` has deletes, then inserts, both sorted by index. `objects` has
/// deletes sorted by source path, then inserts, moves and updates, each sorted by target path. To
/// deliver the changes one by one, use this order: row deletes, section deletes, section inserts,
/// row inserts, moves, updates.
///
///     if case .changed(let change) = list.apply(edits) {
///         shown = try change.apply(to: shown)
///     }
public struct ResultsChange: Hashable, Sendable {
    /// A section that is deleted or inserted.
    public enum SectionChange: Hashable, Sendable {
        /// The section is deleted; `index` is its index before the change.
        case delete(index: Int, name: String)
        /// The section is inserted; `index` is its index after the change.
        case insert(index: Int, name: String)
    }

    /// The change of one object.
    public enum ObjectChange: Hashable, Sendable {
        /// The object enters the list.
        case insert(number: UInt64, tag: UInt16, to: ResultsIndexPath)
        /// The object leaves the list.
        case delete(number: UInt64, tag: UInt16, from: ResultsIndexPath)
        /// The object changed, and moves to another index or section.
        case move(number: UInt64, tag: UInt16, from: ResultsIndexPath, to: ResultsIndexPath)
        /// The object changed; `to` is its path after the change, possibly shifted by other rows.
        case update(number: UInt64, tag: UInt16, from: ResultsIndexPath, to: ResultsIndexPath)
    }

    /// The deleted sections, then the inserted ones, by index.
    public let sections: [SectionChange]
    /// The objects: deletes, inserts, moves, updates.
    public let objects: [ObjectChange]
    /// The known reasons for changes and inserts of rows, by number.
    package let reasons: [UInt64: ChangeReason]

    /// Creates a change from its parts, in any order; cost: O(k log k) for k parts.
    package init(
        sections: [SectionChange], objects: [ObjectChange], reasons: [UInt64: ChangeReason] = [:]
    ) {
        self.sections = sections.count < 2 ? sections : sections.sorted { $0.rank < $1.rank }
        self.objects = objects.count < 2 ? objects : ObjectRank.sorted(objects)
        self.reasons = reasons
    }

    /// Whether the change has no parts.
    public var isEmpty: Bool { sections.isEmpty && objects.isEmpty }

    /// The numbers of the changed objects that are in the list both before and after.
    @usableFromInline package var reloaded: [UInt64] {
        objects.compactMap { change in
            switch change {
            case .move(let number, _, _, _), .update(let number, _, _, _): number
            case .insert, .delete: nil
            }
        }
    }
}

extension ResultsChange.SectionChange {
    /// The rank in the fixed order.
    var rank: (Int, Int) {
        switch self {
        case .delete(let index, _): (0, index)
        case .insert(let index, _): (1, index)
        }
    }
}

extension ResultsChange.ObjectChange {
    /// The object's number.
    public var number: UInt64 {
        switch self {
        case .insert(let number, _, _), .delete(let number, _, _), .move(let number, _, _, _),
            .update(let number, _, _, _):
            number
        }
    }

    /// The tag of the object's entity.
    @usableFromInline package var tag: UInt16 {
        switch self {
        case .insert(_, let tag, _), .delete(_, let tag, _), .move(_, let tag, _, _),
            .update(_, let tag, _, _):
            tag
        }
    }

    /// The path before the change; nil for an insert.
    public var from: ResultsIndexPath? {
        switch self {
        case .insert: nil
        case .delete(_, _, let from), .move(_, _, let from, _), .update(_, _, let from, _): from
        }
    }

    /// The path after the change; nil for a delete.
    public var to: ResultsIndexPath? {
        switch self {
        case .delete: nil
        case .insert(_, _, let to), .move(_, _, _, let to), .update(_, _, _, let to): to
        }
    }
}

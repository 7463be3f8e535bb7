import TandemModel
import TandemResults

/// The edits shown on top of a list, and the objects that must be placed again.
///
/// An edited object is placed again in three cases:
/// - it was edited since,
/// - a merge changes it, or an object on which its placement depends,
/// - its placement could not be decided last time.
///
/// The cost of a change therefore depends on the objects it affects, not on the number of edited
/// objects.
struct EditOverlay {
    private(set) var entries: [ObjectNumber: OverlayEntry] = [:]
    /// The objects whose edits were added, dropped or changed since they were last applied.
    private(set) var touched: Set<ObjectReference> = []
    /// The edited objects on which the placement of other rows may depend.
    private(set) var related: Set<ObjectNumber> = []
    /// Whether all objects must be placed again.
    private(set) var isStaleWhole = false
    /// The undecided objects: they keep their stored row, because an object that determines their
    /// placement is not loaded.
    private var undecided: Set<ObjectNumber> = []
    /// The objects with entries, indexed by the objects on which their placement depends.
    private var reaching = ReverseIndex()
    /// The number of placements so far.
    var placements = 0

    /// Whether there are edits that were added or dropped and not yet applied.
    var isStale: Bool { isStaleWhole || !touched.isEmpty }

    var isEmpty: Bool { entries.isEmpty }

    /// Whether there are no entries, and no object must be placed again.
    var isIdle: Bool { entries.isEmpty && related.isEmpty && !isStale }

    var count: Int { entries.count }

    subscript(number: ObjectNumber) -> OverlayEntry? { entries[number] }

    // MARK: Objects to place again

    mutating func touch(_ object: ObjectReference) { touched.insert(object) }

    mutating func touchAll() { isStaleWhole = true }

    /// Marks the undecided objects to be placed again.
    mutating func touchUnplaced() {
        for number in undecided {
            if let edits = entries[number] { touched.insert(edits.record.reference) }
        }
    }

    /// Returns the objects to place again after a group; `edits` are the group's edits of stored
    /// rows.
    func candidates(_ group: MergedGroup?, _ edits: ListEdits, _ plan: ResultsPlan)
        -> Set<ObjectNumber>
    {
        if touched.isEmpty, entries.isEmpty, related.isEmpty { return [] }
        var found = undecided
        var reachesMembers = false
        for object in touched {
            found.insert(object.number)
            found.formUnion(reaching.rows(for: object.number))
            reachesMembers = reachesMembers || plan.watched[object.tag] != nil
        }
        if entries.isEmpty, related.isEmpty { return found }
        for change in group?.changes ?? [] {
            let number = change.object.number
            if entries[number] != nil { found.insert(number) }
            found.formUnion(reaching.rows(for: number))
            reachesMembers = reachesMembers || plan.watched[change.object.tag] != nil
        }
        for number in edits.removed where entries[number] != nil { found.insert(number) }
        // A new or changed row may refer to an edited object.
        for row in edits.upserted where entries[row.number] != nil || !related.isEmpty {
            found.insert(row.number)
        }
        for number in edits.unmoved where entries[number] != nil || !related.isEmpty {
            found.insert(number)
        }
        // There is no index from members to their owners.
        return plan.compiled.usesToMany && reachesMembers ? found.union(entries.keys) : found
    }

    // MARK: Entries

    /// Adds and removes objects on which the placement of other rows may depend.
    mutating func noteRelated(_ came: Set<ObjectNumber>, gone: Set<ObjectNumber>) {
        if !gone.isEmpty { related.subtract(gone) }
        if !came.isEmpty { related.formUnion(came) }
    }

    /// Clears the marks of touched objects, all of which are about to be placed; later touches
    /// count for the next time.
    mutating func begin() {
        touched.removeAll()
        isStaleWhole = false
    }

    /// Replaces the entry of an object; nil removes it.
    mutating func lay(_ number: ObjectNumber, _ edits: OverlayEntry?) {
        for object in entries[number]?.reached ?? [] { reaching.remove(row: number, for: object) }
        entries[number] = edits
        for object in edits?.reached ?? [] { reaching.insert(row: number, for: object) }
        if edits?.isPlaced == false { undecided.insert(number) } else { undecided.remove(number) }
    }

    /// Replaces all entries, for a list that was fetched.
    mutating func replace(
        by all: [ObjectNumber: OverlayEntry], related: Set<ObjectNumber>
    ) {
        begin()
        self.related = related
        (entries, reaching, undecided) = ([:], ReverseIndex(), [])
        for (number, edits) in all { lay(number, edits) }
    }
}

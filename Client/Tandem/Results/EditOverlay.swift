import TandemModel
import TandemResults

/// The edits that lie over a list, and what of them has to be looked at again.
///
/// An edited object is placed again when it was edited since, when a merge brings something about it or about what leads to its place, and
/// as long as that can't be told. So a change costs what it touches, however much is edited.
struct EditOverlay {
    private(set) var laid: [ObjectNumber: OverlaidEdits] = [:]
    /// The objects whose edits came, went or changed since they were laid.
    private(set) var touched: Set<ObjectReference> = []
    /// The edited objects on which the places of others may hang.
    private(set) var related: Set<ObjectNumber> = []
    /// Whether everything has to be looked at.
    private(set) var isStaleWhole = false
    /// What is laid where the store has it, for want of what leads to its place.
    private var unplaced: Set<ObjectNumber> = []
    /// The laid objects by what leads to their places.
    private var reaching = ReverseIndex()
    /// How often an edited object was placed.
    var placements = 0

    /// Whether edits came or went that are not laid yet.
    var isStale: Bool { isStaleWhole || !touched.isEmpty }

    var isEmpty: Bool { laid.isEmpty }

    /// Whether nothing lies over the list and nothing has to be looked at.
    var isIdle: Bool { laid.isEmpty && related.isEmpty && !isStale }

    var count: Int { laid.count }

    subscript(number: ObjectNumber) -> OverlaidEdits? { laid[number] }

    // MARK: What to look at

    mutating func touch(_ object: ObjectReference) { touched.insert(object) }

    mutating func touchAll() { isStaleWhole = true }

    /// Lets what could not be placed be looked at soon.
    mutating func touchUnplaced() {
        for number in unplaced {
            if let edits = laid[number] { touched.insert(edits.record.reference) }
        }
    }

    /// The objects to look at after a group, whose edits of the stored list are given.
    func candidates(_ group: MergedGroup?, _ edits: ListEdits, _ plan: ResultsPlan)
        -> Set<ObjectNumber>
    {
        if touched.isEmpty, laid.isEmpty, related.isEmpty { return [] }
        var found = unplaced
        var reachesMembers = false
        for object in touched {
            found.insert(object.number)
            found.formUnion(reaching.rows(for: object.number))
            reachesMembers = reachesMembers || plan.watched[object.tag] != nil
        }
        if laid.isEmpty, related.isEmpty { return found }
        for change in group?.changes ?? [] {
            let number = change.object.number
            if laid[number] != nil { found.insert(number) }
            found.formUnion(reaching.rows(for: number))
            reachesMembers = reachesMembers || plan.watched[change.object.tag] != nil
        }
        for number in edits.removed where laid[number] != nil { found.insert(number) }
        // A row may come to hang on what is edited.
        for row in edits.upserted where laid[row.number] != nil || !related.isEmpty {
            found.insert(row.number)
        }
        for number in edits.unmoved where laid[number] != nil || !related.isEmpty {
            found.insert(number)
        }
        // Who is a member of whom is not noted.
        return plan.compiled.usesToMany && reachesMembers ? found.union(laid.keys) : found
    }

    // MARK: Laying

    /// Notes which edited objects others may hang on: some came, some are none any more.
    mutating func noteRelated(_ came: Set<ObjectNumber>, gone: Set<ObjectNumber>) {
        if !gone.isEmpty { related.subtract(gone) }
        if !came.isEmpty { related.formUnion(came) }
    }

    /// Begins to take in what was touched: all of it is looked at, whatever is touched from now on comes later.
    mutating func begin() {
        touched.removeAll()
        isStaleWhole = false
    }

    /// Lays the edits of an object, nil for none, in place of earlier ones.
    mutating func lay(_ number: ObjectNumber, _ edits: OverlaidEdits?) {
        for object in laid[number]?.reached ?? [] { reaching.remove(row: number, for: object) }
        laid[number] = edits
        for object in edits?.reached ?? [] { reaching.insert(row: number, for: object) }
        if edits?.isPlaced == false { unplaced.insert(number) } else { unplaced.remove(number) }
    }

    /// Lays the edits over a list that was fetched.
    mutating func replace(
        by all: [ObjectNumber: OverlaidEdits], related: Set<ObjectNumber>
    ) {
        begin()
        self.related = related
        (laid, reaching, unplaced) = ([:], ReverseIndex(), [])
        for (number, edits) in all { lay(number, edits) }
    }
}

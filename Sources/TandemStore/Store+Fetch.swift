public import TandemModel
public import TandemQuery

/// What is wanted of a fetch.
public enum FetchPart: Hashable, Sendable {
    /// The rows.
    case rows
    /// The objects without their rows.
    case references
    /// How many there are.
    case count
    /// What opens a list: the rows of a few, where the objects stand of many.
    case list(ListHops)

    /// Whether it is what opens a list.
    var isList: Bool { if case .list = self { true } else { false } }
}

/// What a fetch found.
public struct FetchResult: Sendable {
    /// The objects in the request's order, after offset and limit; empty when only references or a count are wanted.
    public var objects: StoredObjects = []
    /// The objects without their rows, if these are wanted.
    public var references: [ObjectReference] = []
    /// Where the objects stand, if they are those of a list and too many for their rows.
    public var places: ListPlaces?
    /// How many match: for a count and without a limit all, else up to the last one that is wanted, offset and limit together.
    public var count = 0
    /// How the candidates were found, in a few words.
    public var plan = ""
    /// How the candidates were found, for `tandem explain`.
    public var steps: [FetchPlanStep] = []
    /// How many rows were read to find them.
    public var rowsRead = 0
    /// How many keys of indexes and links were read to find them.
    public var keysRead = 0
}

/// Fetching: candidates by index or scan, judged by the predicate, sorted by encoded keys.
extension Store {
    /// Fetches from the open write transaction, at ``appliedPosition``, in one go.
    ///
    /// Cost: the candidates, which an index finds where that reads less than a scan (``TandemStore``, Planning); sorting keeps a key of each match in memory. Rows are copied into the answer only: every
    /// candidate is judged where it lies, and with a limit the rows of the answer are read at the end. Throws ``StoreError``: `tooMuch`
    /// when key paths and subqueries reach more than ``ReadBudget`` has.
    public func fetch(
        _ request: CompiledRequest, for part: FetchPart = .rows
    ) throws(StoreError) -> FetchResult {
        let cursor = try FetchCursor(request, for: part, in: self)
        var budget = Int.max
        while !(try cursor.step(&budget)) {}
        return try cursor.result()
    }
}

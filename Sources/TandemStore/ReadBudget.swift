/// How much of the graph a request may still look at: what its key paths and subqueries read beside the candidates.
///
/// Paths over to-many relationships grow with every hop, and so do subqueries within subqueries: a request of
/// a hundred bytes can ask for more than there is time or memory. Bound to one thread.
public final class ReadBudget {
    private var leftOfRequest: Int
    private var leftOfObject = StoreLimits.requestReads
    private var spent = 0

    /// The budget of one request.
    public init() { leftOfRequest = StoreLimits.requestReads }

    /// A budget of so much.
    package init(_ reads: Int) { leftOfRequest = reads }

    /// True when something was not read because the budget was used up; the answer is worth nothing then.
    public private(set) var isExhausted = false

    /// Why something could not be read, if that happened; the answer is worth nothing then either.
    public private(set) var failure: StoreError?

    /// Notes that a read failed.
    func note(_ error: StoreError) { if failure == nil { failure = error } }

    /// How much was read since this was last asked.
    package func takeSpent() -> Int {
        defer { spent = 0 }
        return spent
    }

    /// Begins with another candidate, which has a budget of its own.
    public func beginObject() { leftOfObject = StoreLimits.objectReads }

    /// Goes on with what is no candidate's.
    public func endObject() { leftOfObject = StoreLimits.requestReads }

    /// What a request is told whose budget is used up.
    public static var message: String {
        "a predicate or key path of the request reaches more than \(StoreLimits.objectReads) "
            + "related objects from one object, or \(StoreLimits.requestReads) in all; "
            + "use fewer to-many hops, or fetch in parts"
    }

    /// Takes so much; false when that is more than there is.
    func spend(_ count: Int) -> Bool {
        leftOfRequest -= count
        spent += count
        leftOfObject -= count
        if leftOfRequest < 0 || leftOfObject < 0 { isExhausted = true }
        return !isExhausted
    }
}

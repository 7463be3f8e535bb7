/// How much of the graph a request may still look at: what its key paths and subqueries read beside the candidates.
///
/// Paths over to-many relationships grow with every hop, and so do subqueries within subqueries: a request of
/// a hundred bytes can ask for more than there is time or memory. Bound to one thread.
public final class ReadBudget {
    private let ofRequest: Int
    private let ofObject: Int
    private var leftOfRequest: Int
    /// What is left of the candidate's share, in members that are only listed.
    private var leftOfObject: Int
    private var spent = 0

    /// The budget of one request, by what a store allows.
    public init(_ options: StoreOptions = StoreOptions(), ofRequest: Int? = nil) {
        self.ofRequest = ofRequest ?? options.requestReads
        ofObject = options.objectReads
        leftOfRequest = self.ofRequest
        leftOfObject = .max
    }

    /// Why the budget is used up, so that something was not read; the answer is worth nothing then.
    public private(set) var refusal: StoreError?

    /// True when something was not read because the budget was used up.
    public var isExhausted: Bool { refusal != nil }

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
    public func beginObject() {
        let (members, isMore) = ofObject.multipliedReportingOverflow(by: StoreLimits.membersForOne)
        leftOfObject = isMore ? .max : members
    }

    /// Goes on with what is no candidate's.
    public func endObject() { leftOfObject = .max }

    /// Takes so many objects; false when that is more than there is.
    func spend(_ count: Int) -> Bool { spend(count, count * StoreLimits.membersForOne) }

    /// Takes members that are only listed.
    func spend(members count: Int) -> Bool { spend(1 + count, StoreLimits.membersForOne + count) }

    private func spend(_ count: Int, _ members: Int) -> Bool {
        leftOfRequest -= count
        spent += count
        leftOfObject -= members
        if leftOfObject < 0 {
            refuse(
                .tooMuchOfObject,
                "\(ofObject) related objects from one object; use fewer to-many hops")
        }
        if leftOfRequest < 0 {
            refuse(
                .tooMuch, "\(ofRequest) related objects; use fewer to-many hops, or fetch in parts")
        }
        return !isExhausted
    }

    private func refuse(_ code: StoreError.Code, _ what: String) {
        guard refusal == nil else { return }
        refusal = StoreError(
            code, "a predicate or key path of the request reaches more than " + what)
    }
}

extension Store {
    /// A budget of one request.
    public func readBudget(ofRequest: Int? = nil) -> ReadBudget {
        ReadBudget(options, ofRequest: ofRequest)
    }
}

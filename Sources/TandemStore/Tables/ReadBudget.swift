/// How much of the graph a request may look at, and what ends it before its end.
///
/// Paths over to-many relationships grow with every hop, and so do subqueries within subqueries: a request of
/// a hundred bytes can ask for more than there is time or memory. Bound to one thread at a time.
public final class ReadBudget {
    /// Throws what ends the read, which holds about so many bytes.
    public typealias Check = (_ heldBytes: Int) throws(StoreError) -> Void

    private let ofRequest: Int
    private let ofObject: Int
    private var leftOfRequest: Int
    /// What is left of the candidate's share, in members that are only listed.
    private var leftOfObject: Int
    private let check: Check?
    /// What is left where only little may be looked at.
    private var workLeft: Int
    private let weight: Int
    /// How much predicates and key paths read.
    public private(set) var spent = 0
    private var sinceCheck = 0
    private var heldBytes = 0

    /// So much is looked at between two checks: about a fifth of a millisecond.
    private static var checkInterval: Int { 1_024 }

    /// The budget of one request, by what a store allows; `check` is called again and again while it is carried out.
    ///
    /// With `work` the read ends by `interrupted` before it looks at more objects than that, where 64 bytes of a row count like another object and
    /// each counts `weight` times.
    public init(
        _ options: StoreOptions = StoreOptions(), ofRequest: Int? = nil, work: Int = .max,
        weight: Int = 1, check: Check? = nil
    ) {
        (workLeft, self.weight) = (work, weight)
        self.ofRequest = ofRequest ?? options.requestReads
        ofObject = options.objectReads
        leftOfRequest = self.ofRequest
        leftOfObject = .max
        self.check = check
    }

    /// Why the read has ended, so that something was not read; the answer is worth nothing then.
    public private(set) var refusal: StoreError?

    /// Why something could not be read, if that happened; the answer is worth nothing then either.
    public private(set) var failure: StoreError?

    /// Notes that a read failed.
    func note(_ error: StoreError) { if failure == nil { failure = error } }

    /// Notes how much is looked at next, and about the bytes that the read holds by now; throws what ends it.
    @inline(__always)
    public func take(_ count: Int, heldBytes: @autoclosure () -> Int) throws(StoreError) {
        sinceCheck += count
        guard sinceCheck >= Self.checkInterval || workLeft != .max else { return }
        try takeSlowly(count, heldBytes())
    }

    @inline(never)
    private func takeSlowly(_ count: Int, _ heldBytes: Int) throws(StoreError) {
        if workLeft != .max {
            workLeft -= min(
                workLeft + 1, count.multipliedReportingOverflow(by: weight).partialValue)
            guard workLeft >= 0 else {
                throw StoreError(.interrupted, "the read looks at more than a few objects")
            }
        }
        if sinceCheck >= Self.checkInterval { try runCheck(heldBytes) }
    }

    /// So many members at most are worth listing: one more is refused.
    var membersLeft: Int {
        let (request, isMore) = max(0, min(leftOfRequest, workLeft)).addingReportingOverflow(1)
        return min(max(0, leftOfObject), isMore ? .max : request)
    }

    /// Notes the bytes that the read holds, and throws what ends it.
    public func runCheck(_ heldBytes: Int) throws(StoreError) {
        (sinceCheck, self.heldBytes) = (0, heldBytes)
        try check?(heldBytes)
    }

    /// Throws what ends the read, which has collected some elements; looks only now and then.
    func check<Element>(collected elements: [Element]) throws(StoreError) {
        guard elements.count % Self.checkInterval == 0 else { return }
        sinceCheck = 0
        try check?(heldBytes + elements.count * MemoryLayout<Element>.stride)
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
        do throws(StoreError) {
            try take(count, heldBytes: heldBytes)
        } catch {
            refusal = refusal ?? error
        }
        return refusal == nil
    }

    private func refuse(_ code: StoreError.Code, _ what: String) {
        guard refusal == nil else { return }
        refusal = StoreError(
            code, "a predicate or key path of the request reaches more than " + what)
    }
}

extension StoreView {
    /// A budget of one request.
    public func readBudget(
        ofRequest: Int? = nil, work: Int = .max, weight: Int = 1, check: ReadBudget.Check? = nil
    ) -> ReadBudget {
        ReadBudget(
            options, ofRequest: ofRequest, work: work, weight: weight, check: check)
    }

    /// Why something that was needed is not there.
    var unreadable: StoreError {
        StoreError(
            .damaged, "the store at \(path) lacks something that a row or the request refers to")
    }
}

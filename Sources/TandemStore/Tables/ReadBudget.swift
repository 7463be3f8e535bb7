package import TandemModel
import TandemQuery

/// The limits on the objects that a request reads and the bytes that it collects, and a check that
/// can end the read early.
///
/// The cost of a path over to-many relationships grows with every hop, and that of subqueries with
/// every level. A request of a hundred bytes could therefore take more time or memory than is
/// available. A request can also name an object a million times. Bound to one thread at a time.
package final class ReadBudget {
    /// A check that throws if the read must end, given the approximate size of the data that the
    /// read holds.
    package typealias Check = (_ heldBytes: Int) throws(StoreError) -> Void

    private let ofRequest: Int
    private let ofObject: Int
    private var leftOfRequest: Int
    /// The remaining budget of the current candidate, counted in listed members.
    private var leftOfObject: Int
    private let check: Check?
    /// The remaining work; `.max` without a limit.
    private var workLeft: Int
    private let weight: Int
    /// The maximum of ``collectedBytes``.
    private let mostBytes: Int
    /// The approximate size of the data collected for the answer in bytes.
    package private(set) var collectedBytes = 0
    /// The number of objects read by predicates and key paths.
    package private(set) var spent = 0
    private var readsSinceCheck = 0
    private var heldBytes = 0

    /// The number of reads between two checks, which take about a fifth of a millisecond.
    private static var checkInterval: Int { 1_024 }

    /// Creates the budget of one request from the store's limits; `check` is called periodically.
    ///
    /// The read ends with `interrupted` before it reads more than `work` objects. Every 64 bytes of
    /// a row count as another object, and each object counts `weight` times. The read may collect
    /// at most `mostBytes` bytes for its answer.
    package init(
        _ options: StoreOptions = StoreOptions(), ofRequest: Int? = nil, work: Int = .max,
        weight: Int = 1, mostBytes: Int = .max, check: Check? = nil
    ) {
        (workLeft, self.weight, self.mostBytes) = (work, weight, mostBytes)
        self.ofRequest = ofRequest ?? options.requestReads
        ofObject = options.objectReads
        leftOfRequest = self.ofRequest
        leftOfObject = .max
        self.check = check
    }

    /// The reason why the read ended early, if it did; the answer must then be discarded.
    package private(set) var interruption: StoreError?

    /// The first error of the read; the answer must then be discarded too.
    package private(set) var failure: StoreError?

    /// Records that a read failed, or that its check ended it.
    func record(_ error: StoreError) {
        if error.code == .interrupted {
            interruption = interruption ?? error
        } else {
            failure = failure ?? error
        }
    }

    /// Accounts for the next `count` reads; throws if the read must end.
    ///
    /// `heldBytes`, the approximate size of the data that the read holds, is evaluated only for a
    /// check.
    @inline(__always)
    package func charge(_ count: Int, heldBytes: @autoclosure () -> Int) throws(StoreError) {
        readsSinceCheck += count
        guard readsSinceCheck >= Self.checkInterval || workLeft != .max else { return }
        try chargeSlowly(count, heldBytes())
    }

    /// Accounts for data that is collected for the answer, and for `count` reads.
    ///
    /// Throws `tooLarge` if the answer exceeds its limit, and the errors of the check.
    package func collect(_ bytes: Int, reads count: Int) throws(StoreError) {
        collectedBytes += bytes
        guard collectedBytes <= mostBytes else {
            throw StoreError(
                .tooLarge, "the answer has more than \(mostBytes) bytes; ask for less at a time")
        }
        try charge(count, heldBytes: collectedBytes)
    }

    /// Accounts for the row of an object that is collected for the answer, or for its absence.
    package func collect(_ row: Row?) throws(StoreError) {
        let bytes = row?.bytes.count ?? 0
        try collect(MemoryLayout<StoredObject>.stride + bytes, reads: 1 + bytes / 64)
    }

    /// Accounts for a hop of a key path; throws `tooMuch` if the request has too many.
    package func followHop() throws(StoreError) {
        if !spend(1), let interruption { throw interruption }
    }

    @inline(never)
    private func chargeSlowly(_ count: Int, _ heldBytes: Int) throws(StoreError) {
        if workLeft != .max {
            workLeft -= min(
                workLeft + 1, count.multipliedReportingOverflow(by: weight).partialValue)
            guard workLeft >= 0 else {
                throw StoreError(.interrupted, "the read visits more than a few objects")
            }
        }
        if readsSinceCheck >= Self.checkInterval { try runCheck(heldBytes) }
    }

    /// The maximum number of members to list; one more than the remaining budget, so that exceeding
    /// it is noticed.
    var membersLeft: Int {
        let (request, isMore) = max(0, min(leftOfRequest, workLeft)).addingReportingOverflow(1)
        return min(max(0, leftOfObject), isMore ? .max : request)
    }

    /// Runs the check with the number of bytes that the read holds; throws if the read must end.
    package func runCheck(_ heldBytes: Int) throws(StoreError) {
        (readsSinceCheck, self.heldBytes) = (0, heldBytes)
        try check?(heldBytes)
    }

    /// Runs the check periodically while elements are collected; throws if the read must end.
    func check<Element>(collected elements: [Element]) throws(StoreError) {
        guard elements.count % Self.checkInterval == 0 else { return }
        readsSinceCheck = 0
        try check?(heldBytes + elements.count * MemoryLayout<Element>.stride)
    }

    /// Sorts elements; throws if the read must end.
    package func sort<Element>(
        _ elements: inout [Element], heldBytes: Int? = nil,
        by precedes: (Element, Element) -> Bool
    ) throws(StoreError) {
        let held = heldBytes ?? self.heldBytes + elements.count * MemoryLayout<Element>.stride
        var sort = CheckedSort()
        try sort.sort(&elements, by: precedes) { () throws(StoreError) in try check?(held) }
    }

    /// Begins the next candidate, and resets the budget per object.
    package func beginObject() {
        let (members, isMore) = ofObject.multipliedReportingOverflow(by: StoreLimits.membersForOne)
        leftOfObject = isMore ? .max : members
    }

    /// Ends the candidate; further reads count only against the request's budget.
    package func endObject() { leftOfObject = .max }

    /// Accounts for objects; returns false if they exceed the budget.
    func spend(_ count: Int) -> Bool { spend(count, count * StoreLimits.membersForOne) }

    /// Accounts for members that are only listed; returns false if they exceed the budget.
    func spend(members count: Int) -> Bool { spend(1 + count, StoreLimits.membersForOne + count) }

    private func spend(_ count: Int, _ members: Int) -> Bool {
        assert(count >= 0 && members >= 0, "A budget is never increased.")
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
                .tooMuch,
                "\(ofRequest) related objects; use fewer to-many hops, or fetch fewer objects")
        }
        do throws(StoreError) {
            try charge(count, heldBytes: heldBytes)
        } catch {
            interruption = interruption ?? error
        }
        return interruption == nil
    }

    private func refuse(_ code: StoreError.Code, _ what: String) {
        guard interruption == nil else { return }
        interruption = StoreError(
            code, "a predicate or key path of the request reaches more than " + what)
    }
}

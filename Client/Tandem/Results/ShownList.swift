import TandemModel
import TandemResults

/// The rows of a list, and the effect of each step on its observers.
///
/// If the rows are out of order, the last list that was in order stays visible. The reasons of all
/// changes are kept until the rows are in order again, and the difference is then reported as one
/// change.
struct ShownList {
    /// The rows after the last step, which may be out of order.
    private(set) var list: SectionedList
    /// The position of the rows; nil before the first fetch.
    var position: Position?
    /// The reason why the visible list is not up to date.
    private(set) var error: TandemError?
    /// The causes of changes that have not been reported yet.
    var causes = ChangeCauses()
    private var lastOrdered: SectionedList?
    private var unreported: [ObjectNumber: ChangeReason] = [:]

    init(isSectioned: Bool) { list = SectionedList(sectioned: isSectioned) }

    /// The list that readers see: the rows, or the last list that was in order.
    var visible: SectionedList {
        assert(lastOrdered == nil || error != nil, "A list that is not visible has failed.")
        return lastOrdered ?? list
    }

    /// Begins a step, which applies a merge or edits.
    mutating func begin() { if lastOrdered == nil { causes = ChangeCauses() } }

    /// Removes, inserts and moves rows.
    mutating func apply(_ edits: ListEdits, keepsOld: Bool) -> ListReport? {
        let old = keepsOld ? visible : nil
        switch list.apply(edits) {
        case .failed(let problem):
            if lastOrdered != nil { addUnreported(edits.reasons) }
            return fail(TandemError(problem), keepsOld: keepsOld)
        case .changed(let change) where lastOrdered == nil:
            return ListReport(content: .change(change), isRecovery: recover(), old: old)
        case .unchanged where lastOrdered == nil:
            guard list.outOfOrder == nil, recover() else { return nil }
            return ListReport(content: .change(.none), isRecovery: true, old: old)
        case .changed, .unchanged:
            addUnreported(edits.reasons)
            if list.outOfOrder != nil { return nil }
            return show(
                list, changed: [:], isFullFetch: false, hasObserver: true, keepsOld: keepsOld)
        }
    }

    /// Replaces the rows, and reports the difference as one change if there is an observer.
    mutating func show(
        _ new: SectionedList, changed: [ObjectNumber: ChangeReason], isFullFetch: Bool,
        hasObserver: Bool, keepsOld: Bool
    ) -> ListReport? {
        addUnreported(changed)
        let old = visible
        list = new
        if let problem = new.outOfOrder {
            lastOrdered = old
            return fail(TandemError(problem), keepsOld: keepsOld)
        }
        lastOrdered = nil
        let isRecovery = recover()
        defer { unreported = [:] }
        guard hasObserver else { return nil }
        let change = new.change(from: old, changed: unreported) ?? .none
        // The first list and a recovery are reported even if nothing differs.
        guard !change.isEmpty || isRecovery || position == nil else {
            return isFullFetch ? ListReport(content: .unchanged) : nil
        }
        return ListReport(
            content: .change(change), isRecovery: isRecovery, isFullFetch: isFullFetch,
            old: keepsOld ? old : nil)
    }

    /// Records a failure; returns no report if the last failure has the same code.
    mutating func fail(_ failure: TandemError, keepsOld: Bool) -> ListReport? {
        // A list that is out of order is reported once, not with every merge that leaves it out of
        // order.
        let isFirstReport = error?.code != failure.code
        error = failure
        return isFirstReport
            ? ListReport(content: .failure(failure), old: keepsOld ? visible : nil) : nil
    }

    /// Returns a report as a change to a plan's list; a change consumes the causes collected so
    /// far.
    mutating func change(
        _ report: ListReport, at position: Position, _ plan: ResultsPlan
    ) -> ControllerChange? {
        let (isSectioned, model) = (plan.sectionKeyPath != nil, plan.compiled.model)
        switch report.content {
        case .unchanged: return nil
        case .failure(let error):
            return ControllerChange(
                position: position, isSectioned: isSectioned, error: error, model: model)
        case .change(let change):
            defer { causes = ChangeCauses() }
            return ControllerChange(
                position: position, change: change, isFirstLoad: self.position == nil,
                isRecovery: report.isRecovery, isSectioned: isSectioned, causes: causes,
                model: model)
        }
    }

    private mutating func addUnreported(_ reasons: [ObjectNumber: ChangeReason]) {
        unreported.merge(reasons) { $0.union($1) }
    }

    /// Clears the error, and returns whether there was one.
    private mutating func recover() -> Bool {
        defer { error = nil }
        return error != nil
    }
}

/// The effect of one step on the observers of a list.
struct ListReport {
    enum Content {
        case change(ResultsChange)
        /// The whole list was fetched, and nothing differs.
        case unchanged
        case failure(TandemError)
    }

    var content: Content
    /// Whether the list is up to date again after a failure.
    var isRecovery = false
    /// Whether the report is about a fetch of the whole list; not every observer receives such
    /// reports.
    var isFullFetch = false
    /// The list that was visible before; nil if no observer needs it.
    var old: SectionedList?

    var isFailure: Bool { if case .failure = content { true } else { false } }
}

extension TandemError {
    /// Creates the error of a list whose sections are out of order.
    init(_ problem: OutOfOrderSection) {
        self.init(
            .outOfOrderSection,
            "section `\(problem.section)` continues after `\(problem.interruptedBy)`: sort by the section "
                + "key path first, or by a key of the same order")
    }
}

import TandemModel

/// The state of a list that is updated by the merges of its context.
///
///     idle ──fetched──→ following ──missed──→ interrupted ──refused──→ refused
///                           ↑────fetched──────────┘ ↑─────restart────────┘
///
/// After a successful fetch, the phase is `following`. While such a fetch is pending
/// (``ListOpening``), a merge that changes anything interrupts the previous list.
enum ResultsPhase {
    /// No list has been fetched yet.
    case idle
    /// Every merge updates the list.
    case following(ResultsPlan)
    /// The list missed changes after a position; the next merge fetches it again.
    case interrupted(ResultsPlan, since: Position)
    /// The list missed changes after a position, and the daemon refused to send it again.
    case refused(ResultsPlan, since: Position)

    /// The plan of the list; nil before the first fetch.
    var plan: ResultsPlan? {
        switch self {
        case .idle: nil
        case .following(let plan), .interrupted(let plan, _), .refused(let plan, _): plan
        }
    }

    /// The plan that merges use to update the list; nil if merges don't update it.
    var followed: ResultsPlan? { if case .following(let plan) = self { plan } else { nil } }

    /// The position after which the list missed changes; nil if it missed none.
    var interruption: Position? {
        switch self {
        case .idle, .following: nil
        case .interrupted(_, let since), .refused(_, let since): since
        }
    }

    var isRefused: Bool { if case .refused = self { true } else { false } }

    /// Records that the list missed changes after its position.
    mutating func interrupt(after position: Position?) {
        guard case .following(let plan) = self, let position else { return }
        self = .interrupted(plan, since: position)
    }

    /// Records that the daemon refused to send the list again.
    mutating func refuse(after position: Position?) {
        interrupt(after: position)
        guard case .interrupted(let plan, let since) = self else { return }
        self = .refused(plan, since: since)
    }

    /// Clears a refusal, so that the next merge fetches the list again.
    mutating func retry() {
        if case .refused(let plan, let since) = self { self = .interrupted(plan, since: since) }
    }

    /// Replaces the plan with a plan for a different model.
    mutating func renew(_ plan: ResultsPlan) {
        switch self {
        case .idle: break
        case .following: self = .following(plan)
        case .interrupted(_, let since): self = .interrupted(plan, since: since)
        case .refused(_, let since): self = .refused(plan, since: since)
        }
    }
}

/// The state of a call that fetches a list while the previous list stays visible.
enum ListOpening {
    case none
    /// The list is not fetched yet; the sums are empty.
    case pending(ResultsPlan, ResultsSums)
    /// The fetch failed, and the call has not thrown the error yet.
    case failed(TandemError)

    /// The plan of the list to be fetched; nil if no fetch is pending.
    var plan: ResultsPlan? { if case .pending(let plan, _) = self { plan } else { nil } }

    /// The empty sums of the list to be fetched; nil if no fetch is pending.
    var sums: ResultsSums? { if case .pending(_, let sums) = self { sums } else { nil } }

    /// Replaces the plan of a pending fetch.
    mutating func renew(_ plan: ResultsPlan) {
        if case .pending(_, let sums) = self { self = .pending(plan, sums) }
    }

    /// Ends a pending fetch.
    mutating func end() { if case .pending = self { self = .none } }
}

import TandemModel
import TandemQuery
import TandemWire

/// Limits for requests whose size alone makes each evaluated object expensive.
struct RequestSize {
    private let committer: Committer

    /// Creates a check against the limits of a committer, which also counts refused requests.
    init(_ committer: Committer) { self.committer = committer }

    private var limits: DaemonLimits { committer.limits }
    private var counts: LimitCounters { committer.limitCounters }

    /// Throws `limitExceeded` for a fetch with too many sort keys or comparisons, or with too long
    /// a constant.
    func check(_ fetch: Fetch) throws(TandemError) {
        try check(fetch.request)
        if let having = fetch.columns?.having { try check(having) }
    }

    /// Throws `limitExceeded` for a request with too many sort keys or comparisons, or with too
    /// long a constant.
    func check(_ request: FetchDescriptor) throws(TandemError) {
        guard request.sort.count <= limits.sortKeys else {
            throw counts.refusal(
                .sortKeys, limits,
                "the request sorts by \(request.sort.count) keys; sort by fewer")
        }
        if let predicate = request.predicate { try check(predicate) }
    }

    private func check(_ predicate: ObjectPredicate) throws(TandemError) {
        let size = PredicateSize(of: predicate)
        guard size.comparisons <= limits.comparisons else {
            throw counts.refusal(
                .comparisons, limits,
                "the predicate has \(size.comparisons) comparisons; use IN, or split the request")
        }
        guard size.constantBytes <= limits.constantBytes else {
            throw counts.refusal(
                .constantBytes, limits,
                "the predicate compares with a constant of \(size.constantBytes) bytes; use a shorter one"
            )
        }
    }
}

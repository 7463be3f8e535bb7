import TandemModel
import TandemQuery
import TandemWire

/// Limits for requests whose size alone makes each evaluated object expensive.
extension Engine {
    /// Throws `limitExceeded` for a fetch with too many sort keys or comparisons, or with too long
    /// a constant.
    func check(sizeOf fetch: Fetch) throws(TandemError) {
        try check(sizeOf: fetch.request)
        if let having = fetch.columns?.having { try check(sizeOf: having) }
    }

    /// Throws `limitExceeded` for a request with too many sort keys or comparisons, or with too
    /// long a constant.
    func check(sizeOf request: FetchRequest) throws(TandemError) {
        guard request.sort.count <= limits.sortKeys else {
            throw limitCounters.refusal(
                .sortKeys, limits,
                "the request sorts by \(request.sort.count) keys; sort by fewer")
        }
        if let predicate = request.predicate { try check(sizeOf: predicate) }
    }

    private func check(sizeOf predicate: ObjectPredicate) throws(TandemError) {
        let size = PredicateSize(of: predicate)
        guard size.comparisons <= limits.comparisons else {
            throw limitCounters.refusal(
                .comparisons, limits,
                "the predicate has \(size.comparisons) comparisons; use IN, or split the request")
        }
        guard size.constantBytes <= limits.constantBytes else {
            throw limitCounters.refusal(
                .constantBytes, limits,
                "the predicate compares with a constant of \(size.constantBytes) bytes; use a shorter one"
            )
        }
    }
}

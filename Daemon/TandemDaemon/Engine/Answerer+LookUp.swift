import TandemModel
import TandemStore
import TandemWire

/// Fetches by a unique value, the most frequent kind of small request.
extension Answerer {
    /// Returns the answer to a fetch of rows by a unique value, or nil for any other fetch.
    ///
    /// The answer is the same as that of the ordinary path.
    func lookUp(_ fetch: Fetch) throws -> DaemonMessage? {
        guard fetch.kind == .rows, fetch.related.isEmpty,
            fetch.at == 0, fetch.lease == 0, let model = committer.store.model,
            let lookup = KeyLookup(fetch.request, in: model)
        else { return nil }
        let objects = try lookup.objects(in: committer.store)
        // An answer that is too large is left to the ordinary path, which rejects it.
        guard objects.byteCount <= limits.readBytes else { return nil }
        return .fetched(
            FetchAnswer(
                position: committer.position, count: UInt64(objects.count), objects: objects))
    }
}

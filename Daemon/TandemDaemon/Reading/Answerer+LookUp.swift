import TandemModel
import TandemStore
import TandemWire

/// Fetches by a unique value, the commonest of small questions.
extension Answerer {
    /// The answer to a fetch of the rows that a unique value leads to, as any fetch would give it; nil for every other message.
    func lookUp(_ message: ClientMessage) throws -> DaemonMessage? {
        guard case .fetch(let fetch) = message, fetch.kind == .rows, fetch.related.isEmpty,
            fetch.at == 0, fetch.lease == 0, let model = committer.store.model,
            let lookup = KeyLookup(fetch.request, in: model)
        else { return nil }
        let objects = try committer.store.objects(of: lookup)
        // What is too much for an answer is refused where all such are.
        guard objects.byteCount <= limits.readBytes else { return nil }
        engine.follow(fetch.interests, session)
        return .fetched(
            Fetched(
                position: committer.position, count: UInt64(objects.count), objects: objects))
    }
}

import TandemModel
import TandemQuery
import TandemWire

extension ContextPart {
    /// Runs an operation, and logs its outcome if the topic is logged.
    func logged<Output>(
        _ topic: OperationLog.Topic, _ fields: (Output) -> [(String, String)],
        _ operation: () async throws -> Output
    ) async throws -> Output {
        guard let log, log.logs(topic) else { return try await operation() }
        let start = log.now
        do {
            let output = try await operation()
            let position = session.map { _ in [("position", "\(merged)")] } ?? []
            log.add(topic, context.name, since: start, position + fields(output))
            return output
        } catch {
            log.add(topic, context.name, since: start, [("error", "\(error)")])
            throw error
        }
    }

    /// Sends a merge's request for verdicts or for rows that a list lacks.
    ///
    /// The request is logged as a fetch at the position before the merge.
    func loggedAnswer(
        to message: ClientMessage, into chunks: ChunkReader? = nil, _ calls: DaemonCalls
    ) async throws -> Result<DaemonMessage, TandemError> {
        let start = log?.now
        let answer = try await calls.answer(to: message, into: chunks)
        if let log, let start, log.logs(.fetch) {
            let position = [("position", "\(merged)")]
            log.add(.fetch, context.name, since: start, position + message.loggedFields(answer))
        }
        return answer
    }
}

extension ClientMessage {
    /// Returns the fields to log for a request that concerns lists.
    fileprivate func loggedFields(_ answer: Result<DaemonMessage, TandemError>) -> [(
        String, String
    )] {
        let lists =
            if case .verdicts(let request) = self { request.items.count } else { 1 }
        let asked = [("lists", "\(lists)")]
        return switch (self, answer) {
        case (_, .failure(let error)): asked + [("error", "\(error)")]
        case (.fetch(let fetch), .success(.fetched(let answer))):
            fetch.request.loggedFields(answer, fetch.kind) + asked
        case (_, .success(.verdicts(let answer))):
            asked + [("verdicts", "\(answer.items.reduce(0) { $0 + $1.count })")]
        default: asked
        }
    }
}

extension FetchDescriptor {
    /// Returns the fields to log for a fetch.
    func loggedFields(_ answer: FetchAnswer, _ kind: Fetch.Kind) -> [(String, String)] {
        let listed =
            answer.places?.count
            ?? answer.objects.count + answer.references.count + answer.values.count
        // The objects of a chunked answer may not have arrived yet.
        let isCounted = kind == .count || answer.hasMore
        let count = isCounted ? Int(clamping: answer.count) : listed
        return [
            ("entity", entity), ("where", predicate?.description ?? "-"), ("count", "\(count)"),
        ]
    }
}

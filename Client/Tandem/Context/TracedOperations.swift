import TandemModel
import TandemQuery
import TandemWire

extension ContextPart {
    /// Runs an operation, and traces whether it succeeds or fails if its topic is traced.
    func traced<Output>(
        _ topic: DebugLog.Topic, _ fields: (Output) -> [(String, String)],
        _ operation: () async throws -> Output
    ) async throws -> Output {
        guard let debug, debug.traces(topic) else { return try await operation() }
        let start = debug.now
        do {
            let output = try await operation()
            let position = session.map { _ in [("position", "\(merged)")] } ?? []
            debug.trace(topic, context.name, since: start, position + fields(output))
            return output
        } catch {
            debug.trace(topic, context.name, since: start, [("error", "\(error)")])
            throw error
        }
    }

    /// Sends a request for a merge, and traces it as a fetch at the position before the merge.
    ///
    /// Such a request is for rows that a list lacks, or for verdicts.
    func tracedAnswer(
        to message: ClientMessage, into parts: ChunkReader? = nil, _ calls: DaemonCalls
    ) async throws -> Result<DaemonMessage, TandemError> {
        let start = debug?.now
        let answer = try await calls.answer(to: message, into: parts)
        if let debug, let start, debug.traces(.fetch) {
            let position = [("position", "\(merged)")]
            debug.trace(.fetch, context.name, since: start, position + message.traceFields(answer))
        }
        return answer
    }
}

extension ClientMessage {
    /// Returns the fields to trace for a request that concerns lists.
    fileprivate func traceFields(_ answer: Result<DaemonMessage, TandemError>) -> [(String, String)]
    {
        let lists =
            if case .verdicts(let request) = self { request.items.count } else { 1 }
        let asked = [("lists", "\(lists)")]
        return switch (self, answer) {
        case (_, .failure(let error)): asked + [("error", "\(error)")]
        case (.fetch(let fetch), .success(.fetched(let answer))):
            fetch.request.traceFields(answer, fetch.kind) + asked
        case (_, .success(.verdicts(let answer))):
            asked + [("verdicts", "\(answer.items.reduce(0) { $0 + $1.count })")]
        default: asked
        }
    }
}

extension FetchDescriptor {
    /// Returns the fields to trace for a fetch.
    func traceFields(_ answer: FetchAnswer, _ kind: Fetch.Kind) -> [(String, String)] {
        let listed =
            answer.places?.count
            ?? answer.objects.count + answer.references.count + answer.values.count
        // The objects of a chunked answer may not have arrived yet.
        let isCounted = kind == .count || answer.hasMore
        let count = isCounted ? Int(clamping: answer.count) : listed
        return [
            ("entity", entity), ("where", predicate?.format ?? "-"), ("count", "\(count)"),
        ]
    }
}

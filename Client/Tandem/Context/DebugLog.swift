import TandemIO
import TandemModel
import TandemQuery
import TandemWire

/// A trace of merges, fetches, faults and saves on standard error, enabled by `TANDEM_DEBUG`.
struct DebugLog: Sendable {
    /// The kinds of traced operations.
    enum Topic: String, CaseIterable { case merge, fetch, fault, save }

    /// The environment variable: topics separated by commas, or 1 for all.
    static let variable = "TANDEM_DEBUG"

    /// The log of this process; nil if nothing is traced.
    static let process = ThisProcess.environment(variable).flatMap {
        DebugLog($0) { StandardStream.error.write($0) }
    }

    private let topics: Set<Topic>
    private let write: @Sendable (String) -> Void
    private let clock: any Clock

    /// Creates a log of the topics in a text; returns nil if the text names none.
    ///
    /// If words of the text are not topics, the first of them is reported.
    init?(
        _ text: String, clock: any Clock = SystemClock(),
        write: @escaping @Sendable (String) -> Void
    ) {
        let words = text.split { $0 == "," || $0 == " " }.map(String.init)
        let isAll = words == ["1"] || words == ["all"]
        topics = isAll ? Set(Topic.allCases) : Set(words.compactMap { Topic(rawValue: $0) })
        self.write = write
        self.clock = clock
        let unknown = isAll ? [] : words.filter { Topic(rawValue: $0) == nil && $0 != "0" }
        if !unknown.isEmpty {
            let known = Topic.allCases.map(\.rawValue).joined(separator: ",")
            write("tandem: \(Self.variable) must be \(known) or 1, not \(Self.plain(unknown[0]))\n")
        }
        if topics.isEmpty { return nil }
    }

    func traces(_ topic: Topic) -> Bool { topics.contains(topic) }

    /// The current time in nanoseconds, to be passed to ``trace(_:_:since:_:)``.
    var now: UInt64 { clock.monotonicNanoseconds }

    /// Writes a line with the topic, the context, the fields and the duration in milliseconds.
    func trace(
        _ topic: Topic, _ context: String, since start: UInt64, _ fields: [(String, String)]
    ) {
        guard traces(topic) else { return }
        let micros = (now - start) / 1_000
        let fraction = String(micros % 1_000 + 1_000).dropFirst()
        let all = [("context", context)] + fields + [("ms", "\(micros / 1_000).\(fraction)")]
        let text = all.map { "\($0)=\(Self.plain($1))" }.joined(separator: " ")
        write("tandem \(topic.rawValue): \(text)\n")
    }

    /// Quotes a text, if necessary, so that it can't start another field or line.
    private static func plain(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.value > 32 && $0.value < 127 && $0 != "\"" && $0 != "=" && $0 != "\\"
            }
        return isPlain ? text : JSON.string(text).text
    }
}

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

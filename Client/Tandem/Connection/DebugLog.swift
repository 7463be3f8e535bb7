import TandemIO
import TandemModel

/// A trace of connecting, merges, fetches, faults and saves on standard error, enabled by
/// `TANDEM_DEBUG`.
struct DebugLog: Sendable {
    /// The kinds of traced operations.
    enum Topic: String, CaseIterable { case connect, merge, fetch, fault, save }

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
        trace(topic, since: start, [("context", context)] + fields)
    }

    /// Writes a line of no context.
    func trace(_ topic: Topic, since start: UInt64, _ fields: [(String, String)]) {
        guard traces(topic) else { return }
        let micros = (now - start) / 1_000
        let fraction = String(micros % 1_000 + 1_000).dropFirst()
        let all = fields + [("ms", "\(micros / 1_000).\(fraction)")]
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

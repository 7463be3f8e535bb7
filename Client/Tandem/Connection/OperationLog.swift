import TandemIO
import TandemModel

/// A log of a container's connection attempts, merges, fetches, faults and saves.
///
/// Each finished operation is passed to the receivers: standard error if `TANDEM_DEBUG` names its
/// topic, and the app's logger and metrics backend.
package struct OperationLog: Sendable {
    /// The kinds of operations.
    package enum Topic: String, CaseIterable, Sendable { case connect, merge, fetch, fault, save }

    /// A finished operation.
    package struct Entry: Sendable {
        /// The kind of the operation.
        package let topic: Topic
        /// The names and values of the fields, in the order in which they are printed.
        package let fields: [(name: String, value: String)]
        /// The duration.
        package let nanoseconds: UInt64
        /// Whether the operation failed without throwing an error to a caller.
        ///
        /// The duration of such an entry does not measure an operation; for a lost connection, it
        /// is the connection's lifetime.
        package let isUnthrownFailure: Bool

        /// Whether the operation failed.
        package var isFailure: Bool { fields.contains { $0.name == "error" } }

        /// The duration in milliseconds, with three decimals.
        package var milliseconds: String {
            let micros = nanoseconds / 1_000
            return "\(micros / 1_000).\(String(micros % 1_000 + 1_000).dropFirst())"
        }

        /// The entry as one line of text, including the line feed.
        fileprivate var line: String {
            let all = fields + [("ms", milliseconds)]
            let text = all.map { "\($0.name)=\(OperationLog.plain($0.value))" }
            return "tandem \(topic.rawValue): \(text.joined(separator: " "))\n"
        }
    }

    /// A receiver of entries.
    package struct Receiver: Sendable {
        let topics: Set<Topic>
        let wantsUnthrownFailures: Bool
        let receive: @Sendable (Entry) -> Void

        /// Creates a receiver of operations on these topics and, on any topic, of failures that no
        /// call throws.
        package init(
            _ topics: Set<Topic>, wantsUnthrownFailures: Bool = false,
            _ receive: @escaping @Sendable (Entry) -> Void
        ) {
            (self.topics, self.receive) = (topics, receive)
            self.wantsUnthrownFailures = wantsUnthrownFailures
        }
    }

    /// The environment variable: topics separated by commas, or 1 for all.
    package static let variable = "TANDEM_DEBUG"

    /// The log of the topics that the environment variable names, written to standard error; nil if
    /// it names none.
    static let standardError = ThisProcess.environment(variable).flatMap {
        OperationLog($0) { StandardStream.error.write($0) }
    }

    /// The topics that the environment variable names.
    package static var namedTopics: Set<Topic> { standardError?.topics ?? [] }

    private let receivers: [Receiver]
    private let clock: any Clock

    /// Creates a log that writes lines about the topics in a string; returns nil if the string
    /// names none.
    ///
    /// The first word of the string that is not a topic is reported.
    init?(
        _ text: String, clock: any Clock = SystemClock(),
        write: @escaping @Sendable (String) -> Void
    ) {
        let words = text.split { $0 == "," || $0 == " " }.map(String.init)
        let isAll = words == ["1"] || words == ["all"]
        let topics = isAll ? Set(Topic.allCases) : Set(words.compactMap { Topic(rawValue: $0) })
        let unknown = isAll ? [] : words.filter { Topic(rawValue: $0) == nil && $0 != "0" }
        if !unknown.isEmpty {
            let known = Topic.allCases.map(\.rawValue).joined(separator: ",")
            write("tandem: \(Self.variable) must be \(known) or 1, not \(Self.plain(unknown[0]))\n")
        }
        if topics.isEmpty { return nil }
        self.init([Receiver(topics) { write($0.line) }], clock: clock)
    }

    init(_ receivers: [Receiver], clock: any Clock = SystemClock()) {
        (self.receivers, self.clock) = (receivers, clock)
    }

    private var topics: Set<Topic> { receivers.reduce(into: []) { $0.formUnion($1.topics) } }

    /// Returns a log with the receivers of both logs.
    func adding(_ other: OperationLog) -> OperationLog {
        OperationLog(receivers + other.receivers, clock: clock)
    }

    func logs(_ topic: Topic) -> Bool { receivers.contains { $0.topics.contains(topic) } }

    /// The current time in nanoseconds, to be passed to ``add(_:_:since:_:)``.
    var now: UInt64 { clock.monotonicNanoseconds }

    /// Adds an operation of a context.
    func add(
        _ topic: Topic, _ context: String, since start: UInt64, _ fields: [(String, String)]
    ) {
        add(topic, since: start, [("context", context)] + fields)
    }

    /// Adds an operation without a context.
    func add(
        _ topic: Topic, since start: UInt64, isUnthrownFailure: Bool = false,
        _ fields: [(String, String)]
    ) {
        let entry = Entry(
            topic: topic, fields: fields, nanoseconds: now - start,
            isUnthrownFailure: isUnthrownFailure)
        for receiver in receivers
        where receiver.topics.contains(topic)
            || isUnthrownFailure && receiver.wantsUnthrownFailures
        {
            receiver.receive(entry)
        }
    }

    /// Adds a failure that no call throws.
    func addFailure(
        _ topic: Topic, since start: UInt64, context: String? = nil,
        _ error: TandemError, _ fields: [(String, String)] = []
    ) {
        let place = context.map { [("context", $0)] } ?? []
        add(
            topic, since: start, isUnthrownFailure: true,
            place + [("error", "\(error)")] + fields)
    }

    /// Quotes a string, if necessary, so that it can't start a new field or line.
    private static func plain(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.unicodeScalars.allSatisfy {
                $0.value > 32 && $0.value < 127 && $0 != "\"" && $0 != "=" && $0 != "\\"
            }
        return isPlain ? text : JSON.string(text).text
    }
}

/// The log of a connection, to which receivers can be added while it runs.
package final class ConnectionLog: Sendable {
    private struct State {
        /// The log configured by `TANDEM_DEBUG`, until a logger replaces it.
        var standardError = OperationLog.standardError
        /// The log of the app's receivers; nil if there are none.
        var own: OperationLog?
    }

    private let state = Locked(State())

    /// The log; nil if it has no receivers.
    var current: OperationLog? {
        state.withLock { state in
            guard let own = state.own else { return state.standardError }
            return state.standardError?.adding(own) ?? own
        }
    }

    /// Adds a receiver for the operations of contexts created from now on.
    ///
    /// If it replaces standard error, no more lines are written there for `TANDEM_DEBUG`.
    package func add(_ receiver: OperationLog.Receiver, replacesStandardError: Bool = false) {
        state.withLock { state in
            if replacesStandardError { state.standardError = nil }
            let added = OperationLog([receiver])
            state.own = state.own?.adding(added) ?? added
        }
    }
}

import TandemModel
import TandemWire

/// The slowest recent requests, for `tandem status` and `tandem top`.
///
/// The duration is measured from the arrival of a request's last bytes to its answer, including the
/// wait for other requests. Requests that are meant to wait for a position are not counted.
struct SlowRequests {
    /// An answered request.
    struct Request {
        var kind: String
        /// The entity of the request, or empty if it has none.
        var entity = ""
        var client: UInt64
        var author: String
        var pid: Int32
        /// The arrival time, in nanoseconds of the monotonic clock.
        var start: UInt64
        var end: UInt64

        fileprivate var length: UInt64 { end - min(start, end) }
    }

    private var requests: [Request] = []

    /// Returns whether a request with these arrival and answer times is slow.
    static func isSlow(from start: UInt64, to end: UInt64) -> Bool {
        end - min(start, end) >= DaemonLimits.slowRequestNanoseconds
    }

    /// Records a request if it is slow.
    mutating func record(_ request: Request) {
        guard Self.isSlow(from: request.start, to: request.end) else { return }
        requests.removeAll { !Self.isRecent($0, request.end) }
        if requests.count < DaemonLimits.slowRequestsKept { return requests.append(request) }
        let shortest = requests.indices.min { requests[$0].length < requests[$1].length }
        guard let shortest, requests[shortest].length < request.length else { return }
        requests[shortest] = request
    }

    private static func isRecent(_ request: Request, _ now: UInt64) -> Bool {
        now - min(now, request.end) < DaemonLimits.slowRequestsNanoseconds
    }

    /// Returns the JSON of `tandem status -o json`, the slowest request first.
    func json(at now: UInt64) -> JSON {
        let recent = requests.filter { Self.isRecent($0, now) }
        return .array(
            recent.sorted { ($0.length, $0.end) > ($1.length, $1.end) }.map { request in
                .object([
                    "kind": .string(request.kind), "entity": .string(request.entity),
                    "client": .int(Int64(request.client)), "author": .string(request.author),
                    "pid": .int(Int64(request.pid)),
                    "endNanoseconds": .int(Int64(clamping: request.end)),
                    "microseconds": .int(Int64(clamping: request.length / 1_000)),
                ])
            })
    }
}

extension ClientMessage {
    /// The entity of the request, or empty if it has none.
    var entity: String {
        switch self {
        case .fetch(let fetch), .explain(let fetch): fetch.request.entity
        default: ""
        }
    }

    /// The kind and the entity of the request, for display.
    var subject: String { entity.isEmpty ? title : "\(title) \(entity)" }

    /// The kind of the request, for display.
    var title: String {
        switch self {
        case .hello: "hello"
        case .save: "save"
        case .insert: "batch insert"
        case .sync: "sync"
        case .schema: "schema"
        case .lease: "lease"
        case .batch: "batch"
        case .fetch: "fetch"
        case .pin: "pin"
        case .vacuum: "vacuum"
        case .consumer: "consumer"
        case .disconnect: "disconnect"
        case .read: "read"
        case .verdicts: "verdicts"
        case .history: "history"
        case .status: "status"
        case .blob: "long value"
        case .cancel: "cancel"
        case .reload: "reload"
        case .explain: "explain"
        }
    }
}

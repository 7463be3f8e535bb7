import Tandem
import TandemIO

/// A sample of a daemon's status.
struct StatusSample {
    var status: JSON
    /// The time of the request, in nanoseconds of the monotonic clock.
    var time: UInt64

    init(_ status: JSON, _ clock: SystemClock) {
        self.status = status
        time = clock.monotonicNanoseconds
    }

    init(_ status: JSON, time: UInt64) {
        self.status = status
        self.time = time
    }
}

/// The work of a daemon between two samples of its status, as shown by `tandem top`.
struct TopFrame {
    let before: StatusSample
    let now: StatusSample

    private var seconds: Double { max(0.001, Double(now.time - min(now.time, before.time)) / 1e9) }

    /// Returns the increase of a counter per second.
    ///
    /// Returns nil if both samples are the same, or if the counter fell because the daemon was
    /// restarted.
    private func rate(_ path: String...) -> Double? {
        func number(_ sample: StatusSample) -> Double? {
            path.reduce(sample.status as JSON?) { $0?[$1] }?.number
        }
        guard before.time != now.time, let first = number(before), let last = number(now),
            last >= first
        else { return nil }
        return (last - first) / seconds
    }

    // MARK: Clients

    /// A client and its work between the samples.
    struct Client {
        var json: JSON
        var lag: Int64
        /// Requests and pushes per second; nil if the client is new.
        var requests: Double?
        var pushes: Double?
    }

    /// The clients, by descending lag, then by descending request rate.
    var clients: [Client] {
        var known: [Int64: JSON] = [:]
        for client in before.status["clients"]?.array ?? [] {
            if let id = client["id"]?.int { known[id] = client }
        }
        let clients = (now.status["clients"]?.array ?? []).map { client in
            let old = client["id"]?.int.flatMap { known[$0] }
            func rate(_ key: String) -> Double? {
                guard before.time != now.time, let old = old?[key]?.number,
                    let new = client[key]?.number
                else { return nil }
                return max(0, new - old) / seconds
            }
            return Client(
                json: client, lag: client["lag"]?.int ?? 0, requests: rate("requests"),
                pushes: rate("pushes"))
        }
        return clients.sorted { one, other in
            let (left, right) = (one.requests ?? 0, other.requests ?? 0)
            if one.lag != other.lag { return one.lag > other.lag }
            if left != right { return left > right }
            return (one.json["id"]?.int ?? 0) < (other.json["id"]?.int ?? 0)
        }
    }

    // MARK: Latencies

    /// Returns a percentile of the values between the samples, in microseconds, as the upper bound
    /// of a bucket.
    ///
    /// Returns nil if there were no values.
    func percentile(_ share: Double, of histogram: String) -> Int64? {
        func counts(_ sample: StatusSample) -> [Int64] {
            sample.status["histograms"]?[histogram]?["counts"]?.array?.map { $0.int ?? 0 } ?? []
        }
        let (old, new) = (counts(before), counts(now))
        let bounds = now.status["histograms"]?[histogram]?["boundsMicroseconds"]?.array ?? []
        guard old.count == new.count else { return nil }
        let rises = zip(old, new).map { max(0, $1 - $0) }
        let total = rises.reduce(0, +)
        guard total > 0 else { return nil }
        var sum: Int64 = 0
        for (index, rise) in rises.enumerated() {
            sum += rise
            if Double(sum) >= share * Double(total) {
                return index < bounds.count ? bounds[index].int : bounds.last?.int
            }
        }
        return nil
    }

    /// The stalls, which delay all saves, longest first, each with its cause and age.
    var stalls: [(cause: String, microseconds: Int64, secondsAgo: Double)] {
        (now.status["stalls"]?.array ?? []).compactMap { stall in
            guard let cause = stall["cause"]?.string, let length = stall["microseconds"]?.int,
                let start = stall["startNanoseconds"]?.number
            else { return nil }
            return (cause, length, max(0, (Double(now.time) - start) / 1e9))
        }.sorted { $0.microseconds > $1.microseconds }
    }

    /// The slow requests in the status, slowest first, as text.
    var slowRequests: [String] {
        (now.status["slowRequests"]?.array ?? []).compactMap { request in
            guard let length = request["microseconds"]?.int,
                let end = request["endNanoseconds"]?.number
            else { return nil }
            let what = ["kind", "entity"].compactMap { request[$0]?.string }
                .filter { !$0.isEmpty }.joined(separator: " ")
            let who = "\(request["author"]?.shown ?? "?")[\(request["pid"]?.shown ?? "?")]"
            let ago = Self.time(max(0, (Double(now.time) - end) / 1e9))
            return "\(what) \(Self.microseconds(length)) of \(who) \(ago) ago"
        }
    }

    // MARK: Text

    /// Returns the lines that fit into the given size.
    ///
    /// `silence` is the number of seconds without an answer, which the first line shows.
    func lines(style: Style, width: Int, height: Int, silence: Int? = nil) -> [String] {
        let head =
            (silence.map {
                ["no answer for \($0) s; the figures below are older"]
            } ?? []) + summary
        let columns = Self.columns.map { $0.0.padded(to: $0.1) }.joined().trimmed
        let rows = clients.map { client -> (String, Bool) in
            (
                zip(cells(client), Self.columns).map { $0.padded(to: $1.1) }.joined().trimmed,
                client.lag > 0
            )
        }
        let room = height == .max ? rows.count : max(1, height - head.count - 2)
        let more = rows.count > room ? [Quantity.count(rows.count - room, "more client")] : []
        func cut(_ line: String) -> String {
            line.printable.cut(toCells: width)
        }
        return head.map(cut) + [style.paint(cut(columns), .name)]
            + rows.prefix(room).map { line, lags in
                lags ? style.paint(cut(line), .update) : cut(line)
            } + more
    }

    private static let columns = [
        ("ID", 8), ("PID", 9), ("AUTHOR", 20), ("ROLE", 8), ("LAG", 9), ("QUEUED", 12),
        ("REQ/S", 9), ("PUSH/S", 9), ("PINS", 6), ("UNIT", 10),
    ]

    private func cells(_ client: Client) -> [String] {
        func text(_ key: String) -> String { client.json[key]?.shown ?? "" }
        let queued = UInt64(clamping: client.json["queuedBytes"]?.int ?? 0)
        let author = text("author")
        return [
            text("id"), text("pid"), author.cut(toCells: 18),
            text("role"), "\(client.lag)", ByteText.text(queued), Self.text(client.requests),
            Self.text(client.pushes), text("pins"), text("unit"),
        ]
    }

    private var summary: [String] {
        func text(_ key: String) -> String { now.status[key]?.shown ?? "?" }
        let isReadOnly = now.status["readOnly"]?.bool ?? false
        let state = isReadOnly ? "read-only: \(text("readOnlyReason"))" : "running"
        let up = now.status["uptimeSeconds"]?.number ?? 0
        var lines = [
            "tandemd \(state), up \(Self.time(up)), position \(text("position")), checkpoint "
                + "\(text("checkpoint")), \(Quantity.count(clients.count, "client"))",
            "saves \(Self.text(rate("transactions")))/s in \(Self.text(rate("batches"))) flushes/s, "
                + "in \(Self.bytes(rate("receivedBytes")))/s, out \(Self.bytes(rate("sentBytes")))/s",
            "save \(latency("save")), flush \(latency("flush")), checkpoint "
                + "\(latency("checkpoint")), to all \(latency("fanOut"))",
        ]
        if let reads = now.status["reads"] {
            func number(_ key: String) -> Int64 { reads[key]?.int ?? 0 }
            lines.append(
                "reads \(number("reading")) of \(number("threads")), \(number("waiting")) wait, "
                    + "\(ByteText.text(UInt64(max(0, number("heldBytes"))))); oldest snapshot "
                    + "\(number("oldestMilliseconds")) ms, "
                    + "\(ByteText.text(UInt64(max(0, number("oldestCommittedBytes"))))) committed since"
                    + "; \(endedReads) ended by limits")
        }
        let stalls = stalls.prefix(3).map {
            "\($0.cause) \(Self.microseconds($0.microseconds)) \(Self.time($0.secondsAgo)) ago"
        }
        if !stalls.isEmpty { lines.append("longest stalls: " + stalls.joined(separator: ", ")) }
        let slow = slowRequests.prefix(3)
        if !slow.isEmpty { lines.append("slow requests: " + slow.joined(separator: ", ")) }
        return lines + [""]
    }

    /// The number of reads since the daemon's start that lasted too long, or pinned too many bytes.
    private var endedReads: Int64 {
        ["snapshotMilliseconds", "snapshotBytes"].reduce(0) {
            $0 + (now.status["limits"]?[$1]?["reached"]?.int ?? 0)
        }
    }

    private func latency(_ histogram: String) -> String {
        guard let half = percentile(0.5, of: histogram), let most = percentile(0.99, of: histogram)
        else { return "-" }
        return "\(Self.microseconds(half))/\(Self.microseconds(most)) (50/99 %)"
    }

    private static func text(_ rate: Double?) -> String {
        guard let rate else { return "-" }
        return rate >= 10 || rate == 0 ? "\(Int(rate.rounded()))" : "\((rate * 10).rounded() / 10)"
    }

    private static func bytes(_ rate: Double?) -> String {
        rate.map { ByteText.text(UInt64($0)) } ?? "-"
    }

    private static func microseconds(_ number: Int64) -> String {
        switch number {
        case ..<10_000: "\(number) µs"
        case ..<10_000_000: "\(number / 1_000) ms"
        default: "\(number / 1_000_000) s"
        }
    }

    private static func time(_ seconds: Double) -> String {
        let whole = Int(min(max(0, seconds), 1e12))
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3_600: return "\(whole / 60) min"
        case ..<172_800: return "\(whole / 3_600) h"
        default: return "\(whole / 86_400) days"
        }
    }

    // MARK: JSON

    /// The frame as a JSON object for scripts: rates per second, percentiles in microseconds.
    var json: JSON {
        func number(_ value: Double?) -> JSON { value.map { .double($0) } ?? .null }
        func bounds(_ histogram: String) -> JSON {
            .object([
                "p50": percentile(0.5, of: histogram).map { .int($0) } ?? .null,
                "p99": percentile(0.99, of: histogram).map { .int($0) } ?? .null,
            ])
        }
        return .object([
            "seconds": .double(seconds), "position": now.status["position"] ?? .null,
            "transactions": number(rate("transactions")), "batches": number(rate("batches")),
            "receivedBytes": number(rate("receivedBytes")), "sentBytes": number(rate("sentBytes")),
            "microseconds": .object([
                "save": bounds("save"), "flush": bounds("flush"),
                "checkpoint": bounds("checkpoint"), "fanOut": bounds("fanOut"),
            ]),
            "clients": .array(
                clients.map { client in
                    var members = client.json.object ?? [:]
                    members["requestsPerSecond"] = number(client.requests)
                    members["pushesPerSecond"] = number(client.pushes)
                    return .object(members)
                }),
            "stalls": now.status["stalls"] ?? .null,
            "slowRequests": now.status["slowRequests"] ?? .null,
        ])
    }
}

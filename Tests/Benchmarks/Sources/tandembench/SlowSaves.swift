import Foundation
import Tandem

/// An event that blocked the daemon's thread for a long time, as reported by the daemon.
struct Stall {
    /// `flush`, `checkpoint` or `segment`.
    var cause: String
    /// The start in nanoseconds of the monotonic clock, which all processes share.
    var start: UInt64
    var end: UInt64
}

/// The parts of the daemon's status that the benchmarks use.
struct DaemonStatus: Decodable {
    /// A stall as encoded in the status.
    struct Stall: Decodable {
        var cause: String
        var startNanoseconds: UInt64
        var microseconds: UInt64
    }

    /// A client as encoded in the status.
    struct Client: Decodable {
        var lag: UInt64?
        var queuedBytes: Int?
    }

    var batches: Int?
    var checkpoint: UInt64?
    var checkpoints: Int?
    var clients: [Client]?
    var lastFlushNanoseconds: UInt64?
    var pid: Int?
    var receivedBytes: Int?
    var replayMicroseconds: Int?
    var replayedChanges: Int?
    var sentBytes: Int?
    var transactions: Int?
    private var stalls: [Stall]?

    /// Reads the status through a container.
    init(_ container: PersistentContainer) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(container.status().utf8))
    }

    /// The latest stalls.
    var latestStalls: [tandembench.Stall] {
        (stalls ?? []).map { stall in
            tandembench.Stall(
                cause: stall.cause, start: stall.startNanoseconds,
                end: stall.startNanoseconds + stall.microseconds * 1_000)
        }
    }
}

/// Returns the daemon's status.
func status(_ socket: String) throws -> DaemonStatus {
    let container = container(socket, "status")
    defer { container.close() }
    return try DaemonStatus(container)
}

/// Waits until the store has a checkpoint at the last position that a container knows.
func waitForCheckpoint(_ socket: String, _ container: PersistentContainer) throws {
    while try status(socket).checkpoint ?? 0 < container.end().number { usleep(10_000) }
}

/// The slowest thousandth of the saves, and their causes.
///
/// The cause of a save is the stall that overlaps it longest, if that is at least a third of its
/// time. Otherwise the cause is `other`: waiting for the processor, for other saves of its batch,
/// or for several short flushes.
struct SlowSaves {
    /// The percentile in microseconds.
    let percentile999: Double
    let causes: [String: Int]

    init(_ times: [[SaveTime]], _ stalls: [Stall]) {
        let all = times.joined().sorted { $0.end - $0.start > $1.end - $1.start }
        let slow = all.prefix(max(1, all.count / 1_000))
        percentile999 = slow.last.map { microseconds(from: $0.start, to: $0.end) } ?? 0
        causes = slow.reduce(into: [:]) { $0[Self.cause(of: $1, stalls), default: 0] += 1 }
    }

    private static func cause(of save: SaveTime, _ stalls: [Stall]) -> String {
        func overlap(_ stall: Stall) -> UInt64 {
            let (start, end) = (max(stall.start, save.start), min(stall.end, save.end))
            return end > start ? end - start : 0
        }
        guard let longest = stalls.max(by: { overlap($0) < overlap($1) }),
            overlap(longest) * 3 >= save.end - save.start
        else { return "other" }
        return longest.cause
    }

    /// Members of a result line.
    var notes: [(String, String)] {
        let counts = causes.sorted { $0.key < $1.key }.map { "\(quoted($0.key)):\($0.value)" }
        return [
            ("p999", decimal(percentile999)), ("p999_causes", "{\(counts.joined(separator: ","))}"),
        ]
    }
}

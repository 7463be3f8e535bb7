import Glibc
import Tandem

/// Saves as in P1 without other clients, with a thousand clients of other entities, and with a
/// thousand subscribers.
///
/// A hundred of the thousand are stopped (SIGSTOP), ten per process, and continue at the end.
@MainActor
struct ClientsBenchmark {
    private static let stoppedProcesses = 10
    private static let perStopped = 10
    let socket: String
    let folder: String
    let n: Int
    let clients: Int

    func run() throws {
        var data = BenchData(contents: n)
        let ids = try data.seed(socket)
        let probe = try DaemonProbe(socket)
        try emit("0_clients", try saves(&data, ids, 43), try probe.memory().own)
        for (entity, name, seed) in [("Bucket", "idle", UInt64(46)), ("Content", "following", 47)] {
            try crowd(entity) {
                let outcome = try saves(&data, ids, seed)
                try emit("\(clients)_clients_\(name)", outcome, try probe.memory().own)
                return outcome.count
            }
        }
        try data.check(socket, ids)
    }

    /// Runs `body` while clients are connected; then continues the stopped ones, and waits until
    /// all clients have received every change.
    private func crowd(
        _ entity: String, _ body: () throws -> Int
    ) throws {
        let stopped = try (0..<Self.stoppedProcesses).map { _ in
            try subscribers(Self.perStopped, entity)
        }
        let live = try subscribers(clients - Self.stoppedProcesses * Self.perStopped, entity)
        for process in stopped { process.signal(SIGSTOP) }
        let saves = try body()
        for process in stopped { process.signal(SIGCONT) }
        try waitForAll()
        let expected = entity == "Content" ? UInt64(saves) : 0
        for process in stopped + [live] {
            process.closeInput()
            let counts = try process.read(4, UInt64(0))
            guard counts[0] == expected, counts[1] == expected else {
                throw Failure("clients got \(counts[0]) to \(counts[1]) changes of \(expected)")
            }
            try process.finish()
        }
    }

    private func subscribers(_ count: Int, _ entity: String) throws -> BenchProcess {
        let process = try BenchProcess([
            "subscribers", "\(count)", socket, folder, entity, "-", "silent",
        ])
        _ = try process.wait(for: Subscribers.ready)
        return process
    }

    /// Polls the daemon until no client lags and nothing is queued.
    private func waitForAll() throws {
        for _ in 0..<600 {
            let clients = try status(socket).clients ?? []
            let behind = clients.contains { $0.lag != 0 || $0.queuedBytes != 0 }
            // Clients read the rest from their sockets within this time.
            usleep(200_000)
            if !behind { return }
        }
        throw Failure("clients stay behind")
    }

    private func saves(
        _ data: inout BenchData, _ ids: [ObjectID], _ seed: UInt64
    ) throws -> SaveBenchmark.Outcome {
        try SaveBenchmark(socket: socket, folder: folder, n: n).measure(
            &data, ids, seed: seed)
    }

    private func emit(_ name: String, _ outcome: SaveBenchmark.Outcome, _ memory: Int) throws {
        ResultLine(
            scenario: "clients", peer: "tandem", n: n, metric: "save_1_object_\(name)",
            values: outcome.saves, floor: outcome.floor,
            notes: [("daemon_rss_kib", "\(memory)")]
        ).emit()
    }
}

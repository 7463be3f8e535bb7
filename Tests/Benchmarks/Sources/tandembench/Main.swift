import BenchmarkTargets
import Glibc

/// `tandembench SCENARIO N SOCKET FOLDER`: runs a scenario against the daemon at a socket.
@main
struct Main {
    @MainActor static func main() async {
        do {
            try BenchData.check()
            try await run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            let text = Array("tandembench: \(error)\n".utf8)
            _ = write(STDERR_FILENO, text, text.count)
            exit(1)
        }
    }

    @MainActor private static func run(_ words: [String]) async throws {
        guard words.count >= 4, let n = Int(words[1]), n > 0 else { throw Failure(usage) }
        let (socket, folder) = (words[2], words[3])
        switch (words[0], words.count) {
        case ("sync", 4): try SyncBenchmark(folder: folder, n: n).run()
        case ("journal", 4): try JournalBenchmark(folder: folder, n: n).run()
        case ("made-journal", 5):
            try MadeJournal(folder: folder, n: n, bytes: Int(words[4]) ?? 100).run()
        case ("made-links", 4):
            var rows = LinkedRows(folder: folder, n: n)
            try rows.run()
        case ("p1", 4): try SaveBenchmark(socket: socket, folder: folder, n: n).run()
        case ("p2", 4): try ThroughputBenchmark(socket: socket, folder: folder, n: n).run()
        case ("load", 7):
            let (writers, perSave) = (Int(words[4]) ?? 1, Int(words[5]) ?? 1)
            try ThroughputBenchmark(socket: socket, folder: folder, n: n).runLong(
                writers, perSave, seconds: Double(words[6]) ?? 1)
        case ("memory", 4):
            try MemoryBenchmark(socket: socket, folder: folder, n: n, saves: 1_000_000).run()
        case ("batch", 4): try BatchBenchmark(socket: socket, n: n).run()
        case ("batch-saver", 4): try BatchSaver(socket: socket).run()
        case ("lookup", 4): try LookupBenchmark(socket: socket, folder: folder, n: n).run()
        case ("echo", 4): try RoundTrip.answer(at: socket, up: n, down: Int(folder) ?? 1)
        case ("echo-awake", 4):
            try RoundTrip.answer(at: socket, up: n, down: Int(folder) ?? 1, isAwake: true)
        case ("count", 4): try CountBenchmark(socket: socket, folder: folder, n: n).run()
        case ("migrate", 4): try MigrationBenchmark(socket: socket, n: n).run()
        case ("migrate-reader", 4): try MigrationReader(socket: socket).run()
        case ("p2-writer", 9): try saver(n, socket, folder, words[4...].map { UInt64($0) ?? 0 })
        case ("p4", 4): try ListBenchmark(n: n).run()
        case ("p4-controller", 4): try ControllerBenchmark(socket: socket, n: n).run()
        case ("p5", 4): try FirstFetchBenchmark(socket: socket, n: n).run()
        case ("p7", 4): try HeldListBenchmark(socket: socket, folder: folder, n: n).run()
        case ("p7-holder", 4): try HeldListBenchmark.hold(socket)
        case ("freeze", 4): try FreezeBenchmark(socket: socket, n: n).run()
        case ("freeze-asker", 5):
            guard let request = FreezeBenchmark.Request(rawValue: words[4]) else {
                throw Failure(usage)
            }
            try FreezeBenchmark.ask(socket, request)
        case ("p8", 4): try ReadersBenchmark(socket: socket, n: n).run()
        case ("p8-peers", 4): try PeerReaders(folder: folder, n: n).run()
        case ("p8-peer", 7):
            guard let question = ReadersBenchmark.Question(rawValue: words[5]),
                let peer = PeerReaders.Peer(rawValue: words[4])
            else { throw Failure(usage) }
            try PeerReaders(folder: folder, n: n).read(
                peer, question, seconds: Double(words[6]) ?? 1)
        case ("p8-reader", 6):
            guard let question = ReadersBenchmark.Question(rawValue: words[4]) else {
                throw Failure(usage)
            }
            try ReadersBenchmark.read(socket, n, question, seconds: Double(words[5]) ?? 1)
        case ("p8-saver", 5):
            try ReadersBenchmark.save(socket, n, seconds: Double(words[4]) ?? 1)
        case ("p6", 4): try FanOutBenchmark(socket: socket, folder: folder, n: n).run()
        case ("clients", 4):
            try ClientsBenchmark(socket: socket, folder: folder, n: 10_000, clients: n).run()
        case ("subscribers", 7):
            try Subscribers.reserveCore()
            var subscribers = try Subscribers(
                n, socket, entity: words[4], plain: words[5] == "-" ? nil : folder + "/plain",
                reports: words[6] == "reports")
            try subscribers.run()
        case ("p3", 4): try PropagationBenchmark(socket: socket, folder: folder, n: n).run()
        case ("p3-reader", 6):
            guard let delivery = PropagationReader.Delivery(rawValue: words[4]),
                let pass = Int(words[5])
            else { throw Failure(usage) }
            try await PropagationReader(socket, n).run(delivery, pass: pass)
        default: try recovery(words, n)
        }
    }

    @MainActor private static func saver(
        _ n: Int, _ socket: String, _ folder: String, _ numbers: [UInt64]
    ) throws {
        let (writer, writers, perSave) = (Int(numbers[0]), Int(numbers[1]), Int(numbers[2]))
        guard writer < writers, perSave > 0 else { throw Failure(usage) }
        let plan = SaverPlan(writer: writer, writers: writers, perSave: perSave, contents: n)
        try Saver(
            socket: socket, folder: folder, plan: plan, nanoseconds: numbers[3],
            saves: Int(clamping: numbers[4])
        ).run()
    }

    /// Runs `recovery-seed`, `recovery-fill` or `recovery-report` with `unindexed` or `indexed`.
    @MainActor private static func recovery(_ words: [String], _ n: Int) throws {
        guard words.count >= 5, let kind = RecoveryBenchmark.Kind(rawValue: words[4]) else {
            throw Failure(usage)
        }
        let benchmark = RecoveryBenchmark(
            socket: words[2], folder: words[3], n: n, kind: kind)
        switch (words[0], words.count) {
        case ("recovery-seed", 5): try benchmark.seed()
        case ("recovery-fill", 5): try benchmark.fill()
        case ("recovery-report", 6):
            try benchmark.report(startMilliseconds: Double(words[5]) ?? 0)
        default: throw Failure(usage)
        }
    }

    static let usage =
        "usage: tandembench p1|p2|p3|p4|p4-controller|p6|p7|p8|clients|freeze|memory|batch|lookup|count|migrate|"
        + "sync|journal N SOCKET FOLDER\n"
        + "       tandembench load N SOCKET FOLDER WRITERS OBJECTS SECONDS"
}

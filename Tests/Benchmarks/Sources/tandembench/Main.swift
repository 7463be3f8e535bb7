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
        switch (words[0], words.count) {
        case ("p1", 4): try SaveBenchmark(socket: words[2], folder: words[3], n: n).run()
        case ("sync", 4): try SyncBenchmark(folder: words[3], n: n).run()
        case ("journal", 4): try JournalBenchmark(folder: words[3], n: n).run()
        case ("p3", 4): try PropagationBenchmark(socket: words[2], folder: words[3], n: n).run()
        case ("p3-reader", 6):
            guard let delivery = PropagationReader.Delivery(rawValue: words[4]),
                let pass = Int(words[5])
            else { throw Failure(usage) }
            try await PropagationReader(words[2], n).run(delivery, pass: pass)
        default: throw Failure(usage)
        }
    }

    static let usage = "usage: tandembench p1|p3|sync|journal N SOCKET FOLDER"
}

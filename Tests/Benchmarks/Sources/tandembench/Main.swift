import Glibc

/// `tandembench SCENARIO N SOCKET FOLDER`: runs a scenario against the daemon at a socket.
@main
struct Main {
    @MainActor static func main() async {
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            guard words.count == 4, let n = Int(words[1]), n > 0 else { throw Failure(usage) }
            try BenchData.check()
            switch words[0] {
            case "p1": try SaveBenchmark(socket: words[2], folder: words[3], n: n).run()
            default: throw Failure(usage)
            }
        } catch {
            let text = Array("tandembench: \(error)\n".utf8)
            _ = write(STDERR_FILENO, text, text.count)
            exit(1)
        }
    }

    static let usage = "usage: tandembench p1 N SOCKET FOLDER"
}

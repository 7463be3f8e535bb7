import ArgumentParser
import Tandem

/// `tandem health`: checks whether the daemon has problems, for scripts.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Check whether the daemon has problems.",
        discussion: """
            Exits with 0 if the daemon is healthy, 1 if it is degraded, and 3 if no daemon answers, because none \
            runs or the running one hangs. Prints a line for each problem; with -o json, one object.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "The output format.")
    var output: OutputFormat = .short

    @Option(help: "The percentage of the store's quota that counts as a problem.")
    var mapPercent = 80

    @Option(
        help: """
            The percentage of the journal's cap that counts as a problem if a reader needs the oldest segments.
            """)
    var journalPercent = 90

    @Option(help: "The lag of a client or consumer, in positions, that counts as a problem.")
    var lag: Int64 = 100_000

    @Option(
        help: "The lag of a reader of the store's file, in seconds, that counts as a problem.")
    var readerLag: Int64 = 60

    func validate() throws {
        guard (1...100).contains(mapPercent), (1...100).contains(journalPercent) else {
            throw ValidationError("--map-percent and --journal-percent must be between 1 and 100")
        }
        guard lag > 0, readerLag > 0 else {
            throw ValidationError("--lag and --reader-lag must be at least 1")
        }
    }

    func run() throws {
        let thresholds = Health.Thresholds(
            mapPercent: mapPercent, journalPercent: journalPercent, lag: lag, readerLag: readerLag)
        let health = Health(try DaemonStatus(global).json, thresholds)
        if output == .json {
            printLine(health.json.text)
        } else if health.problems.isEmpty {
            printLine("healthy")
        } else {
            for problem in health.problems { printLine("\(problem.name): \(problem.message)") }
        }
        if !health.problems.isEmpty { throw ExitCode(1) }
    }
}

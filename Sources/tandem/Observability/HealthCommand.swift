import ArgumentParser
import Tandem

/// `tandem health`: whether the daemon needs attention, for scripts.
struct HealthCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health", abstract: "Says whether the daemon needs anybody's attention.",
        discussion: """
            Exits with 0 if it is healthy, 1 if it is degraded, 3 if no daemon answers, because none runs or it \
            hangs. A line each says what is wrong; with -o json there is one object.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(name: .shortAndLong, help: "short or json.")
    var output: OutputFormat = .short

    @Option(help: "Percent of the store's quota from which on it is a problem.")
    var mapPercent = 80

    @Option(
        help: """
            The journal is a problem from so many percent of its cap on, while somebody needs its oldest part.
            """)
    var journalPercent = 90

    @Option(help: "A client or consumer is a problem when it is so many positions behind.")
    var lag: Int64 = 100_000

    @Option(
        help: "A reader of the store's file is a problem when it is so many seconds behind.")
    var readerLag: Int64 = 60

    func validate() throws {
        guard (1...100).contains(mapPercent), (1...100).contains(journalPercent) else {
            throw ValidationError("--map-percent and --journal-percent are between 1 and 100.")
        }
        guard lag > 0, readerLag > 0 else {
            throw ValidationError("--lag and --reader-lag are at least 1.")
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

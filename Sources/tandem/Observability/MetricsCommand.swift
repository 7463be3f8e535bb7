import ArgumentParser
import Tandem
import TandemIO

/// `tandem metrics`: prints metrics for Prometheus.
struct MetricsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Print the daemon's metrics in Prometheus' text format.",
        discussion: """
            The format has version 0.0.4. With -O, the text atomically replaces a file, for node_exporter's textfile \
            collector; the file's name must end in .prom. If no daemon answers, because none runs or the running one \
            hangs, the file contains tandem_up 0, and the exit code is 3.
            """)

    @OptionGroup var global: GlobalOptions

    @Option(
        name: [.customShort("O"), .long],
        help: ArgumentHelp("A file to replace, instead of standard output.", valueName: "file"))
    var outputFile: String?

    func validate() throws {
        guard outputFile.map({ $0.hasSuffix(".prom") }) ?? true else {
            throw ValidationError(
                "`\(outputFile ?? "")` does not end in .prom; give --output-file FILE.prom")
        }
    }

    func run() throws {
        do {
            try put(try DaemonMetrics(status: try global.container().status()))
        } catch let error as TandemError where [.disconnected, .timeout].contains(error.code) {
            if outputFile != nil { try put(.down) }
            throw error
        }
    }

    private func put(_ metrics: DaemonMetrics) throws {
        let text = Exposition(metrics).text
        guard let outputFile else { return StandardStream.output.write(text) }
        do {
            try RealFileSystem().replace(outputFile, with: Array(text.utf8))
        } catch {
            throw CommandFailure("\(error)")
        }
    }
}

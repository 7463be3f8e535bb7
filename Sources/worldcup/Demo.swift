import ArgumentParser
import Foundation
import Tandem
import TandemIO

/// `worldcup demo`: plays the tournament with a daemon and three processes, and checks the result.
struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Start a daemon, a live table and a player, and compare what they saw.",
        discussion: """
            Fails if the live table differs from the table that a third process fetches, or if \
            a process missed a save. Always stops its processes and removes its store.
            """)

    @Option(help: "The path of tandemd.")
    var tandemd: String
    @Option(help: "Milliseconds between two matches; 150 on a terminal, else 10.")
    var delay: UInt?

    func run() throws {
        do {
            // Created while this is the only thread, so that later threads inherit the blocked
            // signals.
            let signals = try SignalSource()
            let environment = try DemoEnvironment(signals)
            defer { environment.close() }
            try play(environment)
        } catch let error as TandemError {
            StandardStream.error.write("worldcup demo: \(error.message)\n")
            throw ExitCode(1)
        } catch let error as IOError {
            StandardStream.error.write("worldcup demo: \(error.description)\n")
            throw ExitCode(1)
        }
    }

    private func play(_ environment: DemoEnvironment) throws {
        let isTerminal = ThisProcess.isTerminal(StandardStream.output.descriptor)
        let delay = self.delay ?? (isTerminal ? 150 : 10)
        let report = environment.directory + "/table"
        try environment.start(
            "tandemd", tandemd,
            ["--store", environment.directory + "/store", "--socket", environment.socket])
        let table = try environment.start(
            "table", ["table", "--until-input", "--report", report], input: .pipe)
        try environment.wait("the table") { RealFileSystem().exists(report) }
        let player = try environment.start(
            "play", ["play", "--quiet", "--delay", "\(delay)"], output: .pipe)
        let played = try environment.output(of: player, "play")
        guard let position = played.split(whereSeparator: \.isWhitespace).last else {
            throw TandemError(
                .storage, "`worldcup play` did not print its last position: \(played)")
        }
        table.write(position + "\n")
        try environment.finish(table, "table")
        let third = try environment.start(
            "final", ["final", "--position", String(position)], output: .pipe)
        let final = try environment.output(of: third, "final")
        say("\(played)\nThe final table, read by a third process:\n")
        StandardStream.output.write(final)
        try compare(final, with: report)
        try environment.stopDaemon()
        say("\nThe live table is the same, and no process missed a save.")
    }

    private func compare(_ final: String, with report: String) throws {
        let bytes = try RealFileSystem().contents(of: report, maximumBytes: 1 << 20)
        let live = String(decoding: bytes, as: UTF8.self)
        guard live == final else {
            throw TandemError(.storage, "the live table differs from the fetched table:\n\(live)")
        }
    }
}

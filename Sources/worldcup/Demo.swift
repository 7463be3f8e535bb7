import ArgumentParser
import Foundation
import Tandem
import TandemIO

/// `worldcup demo`: plays the tournament with a daemon and three processes, and checks the result.
struct Demo: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Start a daemon, a live table and a player, and compare what they saw.",
        discussion: """
            Fails if the live table differs from a fresh fetch by a third process, or if a \
            process missed a save. Always stops its processes and removes its store.
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
            let stage = try Stage(signals)
            defer { stage.close() }
            try play(stage)
        } catch let error as TandemError {
            StandardStream.error.write("worldcup demo: \(error.message)\n")
            throw ExitCode(1)
        } catch let error as IOError {
            StandardStream.error.write("worldcup demo: \(error.description)\n")
            throw ExitCode(1)
        }
    }

    private func play(_ stage: Stage) throws {
        let isTerminal = ThisProcess.isTerminal(StandardStream.output.descriptor)
        let delay = self.delay ?? (isTerminal ? 150 : 10)
        let report = stage.directory + "/table"
        try stage.start(
            "tandemd", tandemd, ["--store", stage.directory + "/store", "--socket", stage.socket])
        let table = try stage.start(
            "table", ["table", "--until-input", "--report", report], input: .pipe)
        try stage.wait("the table") { RealFileSystem().exists(report) }
        let player = try stage.start(
            "play", ["play", "--quiet", "--delay", "\(delay)"], output: .pipe)
        let played = try stage.output(of: player, "play")
        guard let position = played.split(whereSeparator: \.isWhitespace).last else {
            throw TandemError(
                .storage, "`worldcup play` did not print its last position: \(played)")
        }
        table.write(position + "\n")
        try stage.finish(table, "table")
        let third = try stage.start(
            "final", ["final", "--position", String(position)], output: .pipe)
        let final = try stage.output(of: third, "final")
        say("\(played)\nThe final table, read by a third process:\n")
        StandardStream.output.write(final)
        try compare(final, with: report)
        try stage.stopDaemon()
        say("\nThe live table is the same, and no process missed a save.")
    }

    private func compare(_ final: String, with report: String) throws {
        let bytes = try RealFileSystem().contents(of: report, maximumBytes: 1 << 20)
        let live = String(decoding: bytes, as: UTF8.self)
        guard live == final else {
            throw TandemError(.storage, "the live table differs from a fresh fetch:\n\(live)")
        }
    }
}

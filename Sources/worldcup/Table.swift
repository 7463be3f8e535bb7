import ArgumentParser
import Tandem
import TandemIO

/// `worldcup table`: shows the table and keeps it up to date.
struct Table: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the live table: sections by zone, most wins first.",
        discussion: """
            On a terminal, the table is redrawn in place, with marks on recent changes. Elsewhere, each \
            change is printed once, as a line. Without --once, --until or --until-input, the command \
            runs until it is interrupted.
            """)

    @OptionGroup var socketOptions: SocketOptions
    @Flag(help: "Print the table once, and stop.")
    var once = false
    @Option(help: "Stop when all saves up to this position are shown.")
    var until: String?
    @Flag(help: "Read the position at which to stop from standard input.")
    var untilInput = false
    @Option(
        help: "A file that is created when the table is first shown, and receives the final table.")
    var report: String?

    @MainActor func run() async throws {
        try await reporting {
            let container = socketOptions.container("table")
            let watch = try await GapWatch(container)
            let table = try await LiveTable(container, isQuiet: once)
            if let report { try write("", to: report) }
            guard let stop = try await stop(table) else { return }
            if let position = stop.position {
                let reached = try await container.viewContext.reach(position)
                try await watch.finish(at: reached)
            }
            if once { StandardStream.output.write(table.text.text) }
            if let failure = table.failure { throw TandemError(.storage, failure) }
            if let report { try write(table.text.text, to: report) }
        }
    }

    private struct Stop {
        var position: Position?
    }

    /// Waits until the table should stop; returns nil if standard input ended without a position.
    @MainActor private func stop(_ table: LiveTable) async throws -> Stop? {
        if once { return Stop() }
        if let until { return Stop(position: try .parse(until)) }
        guard untilInput else {
            // Runs until a signal ends the process or the table fails.
            while table.failure == nil { try await Task.sleep(for: .seconds(1)) }
            return Stop()
        }
        let line: String? = await withCheckedContinuation { line in
            // A separate thread, because a blocking read would occupy a thread of Swift's pool.
            let started = try? KernelThread.start(name: "input") {
                let bytes = try? StandardInput().readLine()
                line.resume(returning: bytes.map { String(decoding: $0, as: UTF8.self) })
            }
            if started == nil { line.resume(returning: nil) }
        }
        return try line.map { Stop(position: try .parse($0)) }
    }

    private func write(_ text: String, to path: String) throws {
        let file = try RealFileSystem().open(path, .createIfMissing)
        defer { file.close() }
        try file.write(Array(text.utf8), at: 0)
    }
}

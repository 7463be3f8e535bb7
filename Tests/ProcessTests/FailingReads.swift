import Foundation

/// A series of `tandem` runs; in each run the kernel fails a different read of one file.
///
/// Needs strace (`KilledSaverTests.isInstalled`).
struct FailingReads {
    /// The file whose reads fail.
    let path: String

    /// Runs `tandem` repeatedly, failing read 1, 2, and so on, until a run ends before that read.
    ///
    /// Passes each run with a failed read to `body`. Returns the number of these runs.
    func run(_ arguments: [String], _ body: (CommandRun) throws -> Void) throws -> Int {
        var failed = 0
        while let run = try run(arguments, failing: failed + 1) {
            try body(run)
            failed += 1
        }
        return failed
    }

    /// Returns the run whose read with this number failed, or nil if the run has fewer reads.
    private func run(_ arguments: [String], failing number: Int) throws -> CommandRun? {
        let log = path + ".strace"
        defer { try? FileManager.default.removeItem(atPath: log) }
        let words = [
            "-f", "-qq", "-o", log, "-P", path, "-e", "trace=pread64", "-e",
            "inject=pread64:error=EIO:when=\(number)", DaemonProcess.products + "/tandem",
        ]
        let run = try CommandRun(path: "/usr/bin/strace", words + arguments)
        let calls = try String(contentsOfFile: log, encoding: .utf8)
        return calls.contains("INJECTED") ? run : nil
    }
}

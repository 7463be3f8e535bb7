import Foundation

/// Runs of `tandem` in each of which the kernel fails another read of one file.
///
/// Needs strace (`KilledSaverTests.isThere`).
struct FailingReads {
    /// The file whose reads fail.
    let path: String

    /// Runs `tandem` until a run ends before its read number N; passes each run whose read failed to `body`.
    ///
    /// Returns the number of reads that failed.
    func run(_ arguments: [String], _ body: (CommandRun) throws -> Void) throws -> Int {
        var failed = 0
        while let run = try run(arguments, failing: failed + 1) {
            try body(run)
            failed += 1
        }
        return failed
    }

    /// The run whose read with this number failed; nil if it reads the file less often.
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

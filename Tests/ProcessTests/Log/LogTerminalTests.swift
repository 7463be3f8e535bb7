import Foundation
import TandemIO
import Testing

/// What `tandem log` does on a terminal, and what it leaves when there is none.
@Suite(.timeLimit(.minutes(2)), .enabled(if: isInstalled("script"), "script is not installed"))
struct LogTerminalTests {
    let journal: MadeJournal

    init() throws { journal = try MadeJournal() }

    /// Runs a line of shell on a terminal of its own.
    private func onTerminal(_ settings: String, _ options: String) throws -> CommandRun {
        let tandem = "\(settings) '\(DaemonProcess.products)/tandem' log -D '\(journal.store)'"
        return try CommandRun(
            path: "/usr/bin/env",
            ["-u", "NO_COLOR", "TERM=xterm", "script", "-qec", "\(tandem) \(options)", "/dev/null"])
    }

    @Test func `a pager gets the log on a terminal, and nowhere else`() throws {
        let pager = "TANDEM_PAGER='sed s/^/paged:/'"
        let paged = try onTerminal(pager, "")
        // A terminal ends lines by two characters.
        #expect(paged.output.split(separator: "\r\n").count == 5)
        #expect(
            paged.output.split(separator: "\r\n").allSatisfy { $0.hasPrefix("paged:") },
            "\(paged.output)")
        #expect(try !onTerminal(pager, "--no-pager").output.contains("paged:"))
        #expect(try !onTerminal("TANDEM_PAGER=", "").output.contains("paged:"))
        #expect(try onTerminal("PAGER='sed s/^/other:/'", "").output.contains("other:"))
        let piped = try CommandRun(
            shell: "\(pager) '\(DaemonProcess.products)/tandem' log -D '\(journal.store)'")
        #expect(!piped.output.contains("paged:"))
    }

    @Test func `colour is for a terminal that nobody refused it for`() throws {
        let colored = try onTerminal("TANDEM_PAGER=cat", "")
        #expect(colored.output.contains("\u{1b}[32m"), "\(colored.output)")
        #expect(try !onTerminal("NO_COLOR=1 TANDEM_PAGER=cat", "").output.contains("\u{1b}["))
        #expect(try !onTerminal("TANDEM_PAGER=cat", "--color never").output.contains("\u{1b}["))
    }

    @Test func `nothing found is said to a person only`() throws {
        #expect(try onTerminal("", "--no-pager -t nobody").output.contains("-- no entries --"))
        #expect(try onTerminal("", "--no-pager -q -t nobody").output == "")
    }
}

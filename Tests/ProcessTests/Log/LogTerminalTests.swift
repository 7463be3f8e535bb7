import Foundation
import TandemIO
import TestSupport
import Testing

/// The pager, colours and line widths of `tandem log` on a terminal, and their absence elsewhere.
@Suite(.ownThread, .enabled(if: isInstalled("script"), "script is not installed"))
struct LogTerminalTests {
    let journal: MadeJournal

    init() throws { journal = try MadeJournal() }

    /// Runs `tandem log` on a terminal of its own; `settings` are shell words before the command.
    private func onTerminal(_ settings: String, _ options: String) throws -> CommandRun {
        let tandem = "\(settings) '\(DaemonProcess.products)/tandem' log -D '\(journal.store)'"
        return try CommandRun(
            path: "/usr/bin/env",
            ["-u", "NO_COLOR", "TERM=xterm", "script", "-qec", "\(tandem) \(options)", "/dev/null"])
    }

    @Test func `a pager gets the log on a terminal, and nowhere else`() throws {
        let pager = "TANDEM_PAGER='sed s/^/paged:/'"
        let paged = try onTerminal(pager, "")
        // A terminal ends lines with CR LF.
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

    @Test func `colour is printed on a terminal unless it is turned off`() throws {
        let colored = try onTerminal("TANDEM_PAGER=cat", "")
        #expect(colored.output.contains("\u{1b}[32m"), "\(colored.output)")
        #expect(try !onTerminal("NO_COLOR=1 TANDEM_PAGER=cat", "").output.contains("\u{1b}["))
        #expect(try !onTerminal("TANDEM_PAGER=cat", "--color never").output.contains("\u{1b}["))
    }

    @Test func `-e jumps to the end of the pager, which has the last 1,000 lines`() throws {
        let pager = #"TANDEM_PAGER='sh -c "echo less: $LESS; wc -l"'"#
        let end = try onTerminal("LESS=S \(pager)", "-e").output
        #expect(end.contains("less: S +G") && end.contains("\r\n5"), "\(end)")
        #expect(try onTerminal("LESS=S \(pager)", "").output.contains("less: S\r\n"))
        let long = try MadeJournal(transactions: 1_200, bytes: 8)
        let lines = { (options: [String]) in
            try CommandRun("tandem", ["log", "-D", long.store] + options).lines
        }
        let all = try lines([])
        #expect(all.count == 1_201)
        #expect(try lines(["-e"]) == Array(all.suffix(1_000)))
        #expect(try lines(["-e", "-n5"]) == Array(all.suffix(5)))
        #expect(try lines(["-er"]) == Array(all.suffix(1_000).reversed()))
        #expect(try lines(["-en", "all"]) == all)
    }

    @Test func `a line is cut to the width of the terminal, and complete elsewhere`() throws {
        let whole = try CommandRun("tandem", ["log", "-D", journal.store]).lines
        #expect(whole.contains { $0.count > 60 })
        func shown(_ options: String) throws -> [Substring] {
            try onTerminal("stty cols 60; TANDEM_PAGER=cat", "--utc --color never \(options)")
                .output
                .split(separator: "\r\n")
        }
        let cut = try shown("--no-pager")
        #expect(cut.count == whole.count)
        #expect(cut.allSatisfy { $0.count <= 60 } && cut.contains { $0.hasSuffix("…") }, "\(cut)")
        for full in ["--no-pager -l", "--no-pager --full"] {
            #expect(try shown(full).contains { $0.count > 60 })
        }
        #expect(try shown("--no-pager -o short-iso").allSatisfy { $0.count <= 60 })
        #expect(try shown("--no-pager -o json").contains { $0.count > 60 })
    }

    @Test func `an empty result is reported except with -q`() throws {
        #expect(try onTerminal("", "--no-pager -t nobody").output.contains("-- No entries --"))
        #expect(try onTerminal("", "--no-pager -q -t nobody").output == "")
    }
}

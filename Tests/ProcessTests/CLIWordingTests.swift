import Foundation
import Tandem
import TandemIO
import Testing

@testable import tandem

/// One exit code and one text per condition, in every verb.
@Suite(.ownThread) struct CLIWordingTests: StoreSuite {
    let place: Place

    init() throws {
        place = try .serving(
            #"{"entities": {"Team": {"attributes": {"name": {"type": "string"}}}}}"#)
    }

    @Test func `all verbs report an unknown entity alike`() throws {
        let map = try file("map.json", #"{"files": [{"file": "t.csv", "entity": "Teem"}]}"#)
        try file("t.csv", "name\nA\n")
        for words in [
            ["fetch", "Teem"], ["count", "Teem"], ["explain", "Teem"], ["watch", "Teem"],
            ["export", "Teem"], ["insert", "Teem", "name=A"], ["subscriptions", "-E", "Teem"],
            ["log", "-E", "Teem"], ["log", "entity=Teem"],
            ["import", place.path + "/t.csv", "--entity", "Teem"],
        ] {
            let run = try CommandRun("tandem", words + ["--socket", place.socket])
            expectLine(run, 2, "there is no entity `Teem`")
        }
        expect(try tandem("import", place.path, "--map", map), 2)
    }

    @Test func `a usage error names the mistake and the help page, and nothing else`() throws {
        for (words, part) in [
            (
                ["fetch", "Team", "--limit", "-1"],
                "--limit must not be negative; see `tandem fetch --help`"
            ),
            (["fetch", "Team", "--offset", "-1"], "--offset must not be negative"),
            (["wait", "1", "--timeout", "-1"], "--timeout must not be negative"),
            (["top", "-d", "-1"], "--delay must be at least"),
            (["fetch", "Team", "--at", "0"], "--at must be a position; the first is 1"),
            (["log", "--color", "pink"], "'never'; see `tandem log --help`"),
            (["status", "--name", "../../etc"], "`../../etc` is not a valid daemon name"),
            (["check", "--name", "a/b"], "`a/b` is not a valid daemon name"),
            (["log", "-n", "abc"], "-n must be a non-negative number, or all"),
            (["log", "abc"], "`abc` is not FIELD=VALUE; FIELD is one of author"),
            (["backup"], "Missing expected argument '<target>'; see `tandem backup --help`"),
        ] {
            let run = try CommandRun("tandem", words)
            expectLine(run, 2, part)
            #expect(!run.output.contains("sage:"), "\(run.output)")
        }
        let daemon = try CommandRun("tandemd", ["--name", "../etc", "--check-config"])
        expectLine(daemon, 2, "`../etc` is not a valid daemon name")
    }

    @Test func `a missing file is a usage error`() throws {
        let none = place.path + "/none"
        expectLine(try tandem("schema", "apply", none), 2, "there is no file \(none)")
        expectLine(
            try tandem("import", place.path, "--map", none), 2, "there is no file \(none)")
        expectLine(try tandem("import", none, "--entity", "Team"), 2, "there is no file \(none)")
        expectLine(
            try tandem("import", none + ".csv", "--entity", "Team"), 2,
            "there is no file \(none).csv")
    }

    @Test func `TANDEM_STORE replaces -D of every verb, if nothing names a daemon`() throws {
        func run(_ words: String, _ variables: String = "") throws -> CommandRun {
            try CommandRun(
                shell:
                    "unset TANDEM_SOCKET TANDEM_NAME; TANDEM_STORE='\(place.store)' \(variables) "
                    + "'\(DaemonProcess.products)/tandem' \(words)")
        }
        for words in ["log", "disk-usage", "diff 0 1", "check", "verify", "dump"] {
            expect(try run(words), 0)
        }
        expect(try run("vacuum --size 1 -y"), 0, "nothing to remove")
        expect(try run("log --socket '\(place.path)/none'"), 3, "no daemon listens")
        expect(try run("log", "TANDEM_SOCKET='\(place.path)/none'"), 3, "no daemon listens")
        // A socket does not tell where its store is, and no other store must be read.
        for verb in ["check", "dump", "verify", "rebuild", "backup '\(place.path)/other'"] {
            expect(
                try run(verb, "TANDEM_STORE= TANDEM_SOCKET='\(place.socket)'"), 2,
                "TANDEM_SOCKET names only a socket")
        }
        let backup = place.path + "/backup"
        expect(try run("backup '\(backup)'"), 0)
        expect(try run("verify '\(backup)'", "TANDEM_STORE= TANDEM_SOCKET='\(place.socket)'"), 0)
        expect(try run("restore '\(backup)' -D '\(place.path)/restored'"), 0)
        expect(try run("verify -D '\(place.path)/restored'"), 0, "no problems")
    }

    @Test func `the version lists the supported formats and protocol`() throws {
        let versions = "(store format 1, journal format 1, protocol 3)"
        expectLine(try CommandRun("tandem", ["--version"]), 0, versions)
        expectLine(try CommandRun("tandemd", ["--version"]), 0, versions)
    }

    @Test func `the help names every variable that is read`() throws {
        let help = try CommandRun("tandem", ["--help"]).output
        for name in [
            "TANDEM_SOCKET", "TANDEM_NAME", "TANDEM_STORE", "TANDEM_PAGER", "PAGER", "NO_COLOR",
            "LC_ALL", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
        ] { #expect(help.contains(name), "\(name)") }
    }

    @Test func `symbols are ASCII in the locale C, with the same width`() {
        func isPlain(_ variables: [String: String]) -> Bool {
            PlainSymbols.isPlain { variables[$0] }
        }
        #expect(isPlain(["LANG": "C"]) && isPlain(["LC_ALL": "POSIX", "LANG": "de_DE.UTF-8"]))
        #expect(!isPlain([:]) && !isPlain(["LANG": "C.UTF-8"]) && !isPlain(["LANG": "en_US.UTF-8"]))
        #expect(!isPlain(["LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"]))
        #expect(PlainSymbols.replaced("wins 1→2 µs …") == "wins 1>2 us ~")
    }

    @Test(
        .enabled(if: isInstalled("script"), "script is not installed"),
        arguments: ["C", "C.UTF-8"])
    func `a terminal in the locale C gets ASCII, a pipe does not`(_ locale: String) throws {
        expect(try tandem("insert", "Team", "name=A"), 0)
        let id = try #require(try tandem("fetch", "Team").output.split(separator: " ").first)
        expect(try tandem("update", String(id), "name=B"), 0)
        let log =
            "LC_ALL=\(locale) TANDEM_PAGER=cat '\(DaemonProcess.products)/tandem' log -n 1 --socket '\(place.socket)'"
        let terminal = try CommandRun(
            path: "/usr/bin/env", ["TERM=xterm", "script", "-qec", log, "/dev/null"])
        #expect(terminal.output.contains("→") == (locale != "C"), "\(terminal.output)")
        #expect(try CommandRun(shell: log).output.contains("→"))
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `fetch cuts its lines to the terminal's width, unless -l is given`() throws {
        expect(try tandem("insert", "Team", "name=\(String(repeating: "x", count: 100))"), 0)
        func longest(_ option: String) throws -> Int {
            let command =
                "stty rows 24 cols 40; "
                + "'\(DaemonProcess.products)/tandem' fetch Team \(option) --socket '\(place.socket)'"
            let run = try CommandRun(
                path: "/usr/bin/env", ["TERM=xterm", "script", "-qec", command, "/dev/null"])
            #expect(run.code == 0 && run.output.contains("name=xxx"), "\(run.output)")
            return run.lines.map { $0.count { $0 == "x" } }.max() ?? 0
        }
        #expect((1..<40).contains(try longest("")))
        #expect(try longest("-l") == 100)
        // A pipe gets whole lines.
        #expect(try tandem("fetch", "Team").output.contains(String(repeating: "x", count: 100)))
    }

    /// A verb on a terminal of 100 columns.
    private struct Resizable {
        private let go: String
        private let child: ChildProcess
        var reader: LineReader

        /// Starts a verb on a terminal that is narrowed to a number of columns on demand.
        init(_ verb: String, _ place: Place, narrowedTo columns: Int) throws {
            go = place.path + "/go"
            try CommandRun(shell: "mkfifo '\(go)'").check()
            let command =
                "stty rows 24 cols 100; (read line <'\(go)'; stty cols \(columns) </dev/tty) & "
                + "exec '\(DaemonProcess.products)/tandem' \(verb) --color never --socket '\(place.socket)'"
            child = try ChildProcess.start(
                "/usr/bin/env", ["TERM=xterm", "script", "-qec", command, "/dev/null"],
                output: .pipe)
            reader = LineReader(try #require(child.output))
        }

        func narrow() throws { try CommandRun(shell: "echo >'\(go)'").check() }

        /// Ends the verb.
        ///
        /// After SIGTERM, `script` waits for two seconds. Its end hangs up the terminal, which ends
        /// `tandem`, too.
        func end() {
            child.kill()
            child.wait()
        }
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `watch redraws when the terminal is resized`() throws {
        expect(try tandem("insert", "Team", "name=\(String(repeating: "x", count: 100))"), 0)
        var watch = try Resizable("watch Team", place, narrowedTo: 40)
        func row() -> Int? {
            while let line = watch.reader.next() {
                if line.contains("name=xxx") { return line.count { $0 == "x" } }
            }
            return nil
        }
        #expect(row() ?? 0 > 60)
        try watch.narrow()
        #expect((1..<40).contains(row() ?? 0))
        watch.end()
    }

    @Test(.enabled(if: isInstalled("script"), "script is not installed"))
    func `top redraws when the terminal is resized`() throws {
        var top = try Resizable("top -d 0.1", place, narrowedTo: 20)
        func hasFirstLine(_ isWanted: (Int) -> Bool) -> Bool {
            while let line = top.reader.next() {
                guard let title = line.range(of: "tandemd running") else { continue }
                if isWanted(line[title.lowerBound...].prefix { $0 != "\u{1b}" }.count) {
                    return true
                }
            }
            return false
        }
        #expect(hasFirstLine { $0 > 20 })
        try top.narrow()
        #expect(hasFirstLine { $0 <= 20 })
        top.end()
    }

    @Test func `the tick labels of a long axis have years`() {
        let year: Int64 = 365 * 86_400_000_000
        for years in [2, 5, 10, 30, 100] as [Int64] {
            let now: Int64 = 1_800_000_000_000_000
            let ticks = TimeTicks(from: now, to: now + years * year, most: 3, isUTC: true).ticks
            #expect(!ticks.isEmpty, "\(years) years")
            #expect(ticks.allSatisfy { $0.label.hasPrefix("20") || $0.label.hasPrefix("21") })
        }
    }
}

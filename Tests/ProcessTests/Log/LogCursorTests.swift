import Foundation
import Glibc
import Tandem
import TandemIO
import Testing

/// The cursor that `tandem log` keeps and shows, however it ends, and the line for an empty result.
@Suite(.ownThread) @MainActor struct LogCursorTests {
    let place: Place
    private var file: String { place.path + "/cursor" }

    init() throws { place = try Place() }

    private func start(_ words: [String]) throws -> (child: ChildProcess, reader: LineReader) {
        let child = try ChildProcess.start(
            DaemonProcess.products + "/tandem",
            ["log", "-o", "json", "--socket", place.socket] + words, output: .pipe)
        return (child, LineReader(try #require(child.output)))
    }

    private func position(_ line: String?) throws -> UInt64? {
        try JSON(parsing: #require(line))["position"]?.int.map(UInt64.init)
    }

    private func kept() throws -> UInt64 {
        let text = try String(contentsOfFile: file, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return try #require(UInt64(text) ?? Position(text)?.number)
    }

    /// Reads the remaining lines, and returns their positions and the last line without one.
    private func drain(_ reader: inout LineReader) -> (positions: [UInt64], rest: String?) {
        var (positions, rest) = ([UInt64](), String?.none)
        while let line = reader.next() {
            if let number = (try? JSON(parsing: line))?["position"]?.int {
                positions.append(UInt64(number))
            } else {
                rest = line
            }
        }
        return (positions, rest)
    }

    /// A number of transactions that exceeds a page of history and the capacity of a pipe.
    private static let many = 1_300

    /// A store with `many` transactions after its model.
    private static let filled = Result {
        let journal = try MadeJournal(transactions: many, bytes: 100)
        try CommandRun("tandem", ["rebuild", "-D", journal.store]).check()
        return journal
    }

    /// Serves a copy of the store with many transactions; returns their last position.
    private func serveMany() throws -> UInt64 {
        try FileManager.default.copyItem(
            atPath: try Self.filled.get().store, toPath: place.store)
        try place.serve()
        return UInt64(Self.many) + 1
    }

    @Test(arguments: [SIGINT, SIGTERM, SIGHUP, SIGKILL])
    func
        `a follower that is ended in the middle of a page has recorded the cursor of its last line`(
            signal: Int32
        ) throws
    {
        let last = try serveMany()
        try "0\n".write(toFile: file, atomically: true, encoding: .utf8)
        let (child, pipe) = try start(["-f", "--cursor-file", file])
        var reader = pipe
        let first = reader.next()
        #expect(try position(first) == 1)
        kill(child.processID, signal)
        #expect(child.wait() == .signalled(signal))
        let written = drain(&reader).positions
        let end = written.last ?? 1
        #expect(written == Array(2..<end + 1) && end < last)
        let cursor = try kept()
        // SIGKILL can't be caught, so the cursor may lag by the line that was just written.
        #expect(cursor == end || (signal == SIGKILL && cursor + 1 == end), "\(cursor), \(end)")
        let (next, rest) = try start(["-f", "--cursor-file", file])
        defer { next.kill() }
        var lines = rest
        let resumed = lines.next()
        #expect(try position(resumed) == cursor + 1)
    }

    @Test(.enabled(if: KilledSaverTests.isInstalled, "strace is not installed or may not trace"))
    func `a signal waits for a disk that takes long to record the cursor`() throws {
        try place.serve()
        try place.saveNotes(20)
        try "0\n".write(toFile: file, atomically: true, encoding: .utf8)
        // With -D the command is our child, not strace. Each flush of a thread after its first one
        // takes longer than a signal waits for a reader.
        let words = [
            "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
            "inject=fsync,fdatasync:delay_enter=1200000:when=2+",
            DaemonProcess.products + "/tandem",
            "log", "-o", "json", "--socket", place.socket, "-f", "--cursor-file", file,
        ]
        let child = try ChildProcess.start("/usr/bin/strace", words, output: .pipe)
        var reader = LineReader(try #require(child.output))
        let first = reader.next()
        #expect(try position(first) == 1)
        let took = ContinuousClock().measure {
            kill(child.processID, SIGTERM)
            #expect(child.wait() == .signalled(SIGTERM))
        }
        #expect(took > .seconds(1), "no flush delayed the end")
        let end = drain(&reader).positions.last ?? 1
        #expect(try kept() == end)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func `a run without -f that a signal ends records the cursor of its flushed output`(
        signal: Int32
    ) throws {
        _ = try serveMany()
        try "0\n".write(toFile: file, atomically: true, encoding: .utf8)
        let (child, pipe) = try start(["--cursor-file", file])
        var reader = pipe
        // By then the first 64 KiB have been written, and more remains than the pipe and the output
        // buffer hold.
        for number in 1...400 {
            let line = reader.next()
            #expect(try position(line) == UInt64(number))
        }
        kill(child.processID, signal)
        #expect(child.wait() == .signalled(signal))
        let end = drain(&reader).positions.last ?? 400
        #expect(try (1...end).contains(kept()))
    }

    @Test func `a follower into a closed pipe records no cursor beyond its output`() throws {
        let last = try serveMany()
        try "0\n".write(toFile: file, atomically: true, encoding: .utf8)
        let tandem = "'\(DaemonProcess.products)/tandem' log -f -o json"
        let run = try CommandRun(
            shell: "\(tandem) --socket '\(place.socket)' --cursor-file '\(file)' | head -n 2")
        #expect(run.json.map { $0["position"]?.int } == [1, 2])
        // Before the pipe was closed, as much as a pipe holds may have been written.
        #expect(try (1..<last).contains(kept()))
    }

    @Test(arguments: [false, true])
    func `a cursor file that is a pipe or a link stays one`(_ isLink: Bool) throws {
        try place.serve()
        let last = try place.saveNotes(3).number
        let target = place.path + "/target"
        let descriptor: Int32
        if isLink {
            try "0\n".write(toFile: target, atomically: true, encoding: .utf8)
            #expect(symlink("target", file) == 0)
            descriptor = open(target, O_RDWR | O_CLOEXEC)
        } else {
            #expect(mkfifo(file, 0o600) == 0)
            descriptor = open(file, O_RDWR | O_CLOEXEC)
        }
        defer { close(descriptor) }
        var before = stat()
        #expect(lstat(file, &before) == 0)
        let run = try CommandRun(
            "tandem", ["log", "--cursor-file", file, "--socket", place.socket])
        expect(run, 0)
        #expect(run.lines.count == 4)
        var after = stat()
        #expect(lstat(file, &after) == 0)
        #expect(after.st_ino == before.st_ino && after.st_mode == before.st_mode)
        if isLink { return #expect(try kept() == last) }
        var bytes = [UInt8](repeating: 0, count: 200)
        #expect(read(descriptor, &bytes, 200) > 0)
        #expect(bytes.starts(with: "\(last)@".utf8))
    }

    @Test func `an invalid cursor file is reported before anything is printed`() throws {
        try place.serve()
        try place.saveNotes(1)
        func log(_ path: String) throws -> CommandRun {
            try CommandRun("tandem", ["log", "--cursor-file", path, "--socket", place.socket])
        }
        let missing = place.path + "/none/cursor"
        expectLine(try log(missing), 2, "\(missing):", "--cursor-file")
        #expect(try !log(missing).output.contains(".tmp"))
        try "junk\n".write(toFile: file, atomically: true, encoding: .utf8)
        expectLine(try log(file), 2, "\(file) does not contain a cursor")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "junk\n")
    }

    @Test func `a follower with a number of lines keeps the last of them`() throws {
        try place.serve()
        let last = try place.saveNotes(20).number
        let (child, pipe) = try start(["-f", "-n", "3", "--cursor-file", file])
        var reader = pipe
        for number in last - 2...last {
            let line = reader.next()
            #expect(try position(line) == number)
        }
        child.terminate()
        #expect(child.wait() == .signalled(SIGTERM))
        #expect(try kept() == last)
    }

    @Test func `a follower that is ended shows its cursor`() throws {
        try place.serve()
        let last = try place.saveNotes(5).number
        let (child, pipe) = try start(["-f", "-n", "2", "--show-cursor"])
        var reader = pipe
        _ = reader.next()
        let line = reader.next()
        child.terminate()
        #expect(child.wait() == .signalled(SIGTERM))
        let cursor = try JSON(parsing: #require(line))["cursor"]?.string
        #expect(drain(&reader).rest == cursor.map { "-- cursor: \($0)" })
        #expect(cursor?.hasPrefix("\(last)@") ?? false)
    }

    @Test func `a follower under nohup is not ended by SIGHUP`() throws {
        try place.serve()
        try place.saveNotes(2)
        let child = try ChildProcess.start(
            "/bin/sh",
            [
                "-c", "trap '' HUP; exec \"$0\" \"$@\"", DaemonProcess.products + "/tandem", "log",
                "-f", "-n", "1", "-o", "json", "--socket", place.socket, "--cursor-file", file,
            ], output: .pipe)
        defer { child.kill() }
        var reader = LineReader(try #require(child.output))
        _ = reader.next()
        kill(child.processID, SIGHUP)
        let last = try place.saveNotes(1).number
        let line = reader.next()
        #expect(try position(line) == last)
    }

    @Test func `an empty result is a line of its own only in formats for people`() throws {
        let journal = try MadeJournal()
        func log(_ words: String...) throws -> CommandRun {
            try CommandRun("tandem", ["log", "-D", journal.store] + words)
        }
        for format in ["short", "short-iso", "verbose", "cat"] {
            expect(try log("-t", "nobody", "-o", format), 0, "-- No entries --\n")
        }
        for format in ["json", "json-pretty", "export"] {
            #expect(try log("-t", "nobody", "-o", format).output == "")
        }
        #expect(try log("-t", "nobody", "-o", "csv").lines.count == 1)
        #expect(try log("-t", "nobody", "-q").output == "")
        #expect(try log("-n", "0").output == "-- No entries --\n")
        #expect(try log("--stats", "-t", "nobody").output == "-- No entries --\n")
        // As with journalctl, the line is on standard output, before the cursor.
        #expect(
            try log("-t", "nobody", "--show-cursor").output == "-- No entries --\n-- cursor: 5\n")
        let tandem = "'\(DaemonProcess.products)/tandem' log -D '\(journal.store)' -t nobody"
        #expect(try CommandRun(shell: "\(tandem) 2>/dev/null").output == "-- No entries --\n")
    }
}

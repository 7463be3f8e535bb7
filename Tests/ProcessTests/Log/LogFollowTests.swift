import Foundation
import Glibc
import Tandem
import TandemIO
import TandemJournal
import Testing

/// `tandem log -f` across restarts of the daemon and gaps in the journal.
@Suite(.ownThread) @MainActor struct LogFollowTests {
    let place: Place

    init() throws { place = try Place() }

    @Test func `following a position that does not exist prints nothing and ends`() throws {
        try place.serveSmallSegments()
        let last = try place.saveNotes(3)
        for start in ["--from", "-c", "--after-cursor"] {
            let run = try CommandRun(
                "tandem", ["log", "-f", start, "999", "--socket", place.socket])
            expectLine(run, 1, "position 999 does not exist yet; the last one is \(last.number)")
        }
    }

    @Test func `following begins at a cursor, a position or a time`() throws {
        try place.serveSmallSegments()
        let last = try place.saveNotes(30)
        let starts: [(arguments: [String], first: UInt64)] = [
            (["--after-cursor", "3"], 4), (["-c", "3"], 3), (["--from", "4"], 4),
            (["-S", "-1h"], 1), (["--after-cursor", "3", "-n", "2"], 4),
        ]
        for (arguments, first) in starts {
            let follower = try Follower(place, arguments, lines: [])
            defer { follower.end() }
            for number in first...last.number {
                #expect(try follower.position() == Int64(number), "\(arguments)")
            }
        }
    }

    @Test func `a follower resumes from its cursor file, losing and repeating nothing`()
        throws
    {
        try place.serveSmallSegments()
        let file = place.path + "/cursor"
        try "1\n".write(toFile: file, atomically: true, encoding: .utf8)
        for _ in 0..<2 {
            let before = try #require(try cursor(in: file))
            let last = try place.saveNotes(5)
            let follower = try Follower(place, ["--cursor-file", file], lines: [])
            defer { follower.end() }
            for number in before + 1...last.number {
                #expect(try follower.position() == Int64(number))
            }
            // The file is written after the page was printed.
            while try cursor(in: file) != last.number { sched_yield() }
        }
    }

    private func cursor(in file: String) throws -> UInt64? {
        let text = try String(contentsOfFile: file, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
        return UInt64(text) ?? Position(text)?.number
    }

    @Test func `a daemon killed while a page is printed causes no repeated line`()
        throws
    {
        let daemon = try place.serveSmallSegments()
        let last = try place.saveNotes(1_500)
        let follower = try Follower(place, ["--from", "1"], lines: [])
        defer { follower.end() }
        // A page has 1,000 transactions. The pipe fills up within the first page, so the next one
        // is requested after the kill.
        #expect(try follower.position() == 1)
        daemon.end(SIGKILL)
        try place.serveSmallSegments()
        for number in 2...last.number {
            #expect(try follower.position() == Int64(number))
        }
    }

    @Test func `following reports removed transactions, and continues with the oldest one`() throws
    {
        let daemon = try place.serveSmallSegments()
        try place.saveNotes(2)
        let follower = try Follower(place)
        defer { follower.end() }
        let seen = try follower.position()
        kill(follower.child.processID, SIGSTOP)
        let last = try place.saveNotes(60, bytes: 4_000)
        daemon.end(SIGTERM)
        let oldest = try trim(below: last.number)
        #expect(oldest > UInt64(seen ?? 0) + 1)
        try place.serveSmallSegments()
        kill(follower.child.processID, SIGCONT)
        let gap = try #require(try follower.next()["gap"])
        #expect(gap["after"]?.string?.hasPrefix("\(seen ?? 0)@") ?? false, "\(gap)")
        #expect(gap["next"]?.string?.hasPrefix("\(oldest)@") ?? false, "\(gap)")
        for number in oldest...last.number {
            #expect(try follower.position() == Int64(number))
        }
    }

    /// Removes the segments that retention would remove; returns the oldest position left.
    private func trim(below position: UInt64) throws -> UInt64 {
        let (journal, _) = try Journal.open(
            directory: place.store + "/journal", fileSystem: RealFileSystem(),
            options: JournalOptions(), identityIfNew: LogIdentity(high: 0, low: 0),
            appliedPosition: nil)
        defer { try? journal.close() }
        try journal.trim(below: position)
        return journal.bounds.first
    }

    @Test func `a directory whose journal was trimmed is read with the store's model`()
        throws
    {
        let daemon = try place.serveSmallSegments()
        let last = try place.saveNotes(60, bytes: 4_000)
        daemon.end(SIGTERM)
        let oldest = try trim(below: last.number)
        #expect(oldest > 1)
        let run = try CommandRun("tandem", ["log", "-D", place.store, "-E", "Note", "-o", "json"])
        #expect(run.code == 0, "\(run.output.suffix(300))")
        #expect(run.json.count == Int(last.number - oldest + 1))
        for line in run.json.dropLast() {
            let change = line["changes"]?.array?.first
            #expect(change?["after"]?["text"]?.string?.count == 4_000, "\(line)")
        }
        let unknown = try CommandRun("tandem", ["log", "-D", place.store, "-E", "Nope"])
        #expect(unknown.code == 2 && unknown.lines.count == 1, "\(unknown.output)")
    }
}

/// `tandem log -f` while its daemon is away for longer than a timeout.
///
/// These tests wait for seconds, so they run in parallel with waiting tests of other suites.
@Suite(.ownThread) @MainActor struct LogAbsenceTests {
    let place: Place

    init() throws { place = try Place() }

    @Test
    func `following reports a restored log, and continues in the new epoch`()
        throws
    {
        var daemon = try place.serveSmallSegments()
        try place.saveNotes(2)
        daemon.end(SIGTERM)
        let (backup, again) = (place.path + "/backup", place.path + "/again")
        try CommandRun("tandem", ["backup", backup, "-D", place.store]).check()
        daemon = try place.serveSmallSegments()
        try place.saveNotes(3)
        let follower = try Follower(place)
        defer { follower.end() }
        let seen = try follower.position()
        daemon.end(SIGTERM)
        try CommandRun("tandem", ["restore", backup, "--store", again]).check()
        try place.serveSmallSegments(again)
        let last = try place.saveNotes(1)
        #expect(last.number < UInt64(seen ?? 0))
        let gap = try #require(try follower.next()["gap"])
        #expect(gap["reason"]?.string == "the log was restored", "\(gap)")
        // The follower prints the whole restored log, from its oldest transaction.
        let oldest = try #require(gap["next"]?.string.flatMap { Position($0) })
        #expect(oldest.isComparable(with: last))
        for number in oldest.number...last.number {
            #expect(try follower.position() == Int64(number))
        }
    }

    @Test func `following survives a daemon that is away longer than the connection timeout`()
        throws
    {
        let daemon = try place.serveSmallSegments()
        let first = try place.saveNotes(2)
        let follower = try Follower(place)
        defer { follower.end() }
        #expect(try follower.position() == Int64(first.number))
        daemon.end(SIGTERM)
        // A client waits five seconds for a connection.
        try ChildProcess.start("/bin/sleep", ["6"]).wait()
        #expect(follower.child.status == nil)
        try place.serveSmallSegments()
        let second = try place.saveNotes(1)
        #expect(try follower.position() == Int64(second.number))
    }

    @Test func `a daemon that is away between two pages causes no repeated line`() throws {
        let daemon = try place.serveSmallSegments()
        let last = try place.saveNotes(1_500)
        let follower = try Follower(place, ["--from", "1"], lines: [], withRemarks: true)
        defer { follower.end() }
        // A page has 1,000 transactions. The pipe fills up within the first page, so the next one
        // is requested from a daemon that is not there, which is an error.
        #expect(try follower.position() == 1)
        daemon.end(SIGKILL)
        var positions: [Int64] = []
        var remarks: [String] = []
        while positions.last != Int64(last.number) {
            let line = try #require(follower.line())
            if let json = try? JSON(parsing: line) {
                positions.append(try #require(json["position"]?.int))
            } else {
                remarks.append(line)
                try place.serveSmallSegments()
            }
        }
        #expect(positions == Array(2...Int64(last.number)))
        #expect(remarks.count == 1 && remarks[0].contains("waiting for the daemon"), "\(remarks)")
    }
}

/// A running `tandem log -f` and its lines.
private final class Follower {
    let child: ChildProcess
    private var reader: LineReader

    /// Starts following; `withRemarks` also returns the lines of standard error.
    init(
        _ place: Place, _ arguments: [String] = [], lines: [String] = ["-n", "1"],
        withRemarks: Bool = false
    ) throws {
        let command =
            [DaemonProcess.products + "/tandem", "log", "-f", "-o", "json"]
            + (withRemarks ? [] : ["-q"]) + ["--socket", place.socket] + lines + arguments
        child = try ChildProcess.start(
            "/bin/sh", ["-c", withRemarks ? #"exec "$@" 2>&1"# : #"exec "$@""#, "sh"] + command,
            output: .pipe)
        reader = LineReader(try #require(child.output))
    }

    func line() -> String? { reader.next() }

    func next() throws -> JSON {
        let line = self.line()
        return try JSON(parsing: try #require(line))
    }

    func position() throws -> Int64? { try next()["position"]?.int }

    func end() {
        child.kill()
        child.wait()
    }
}

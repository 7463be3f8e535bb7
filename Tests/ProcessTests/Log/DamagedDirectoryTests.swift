import Foundation
import Tandem
import TandemIO
import TestSupport
import Testing

/// Verbs that read a directory report damage of the journal, and exit with 1.
@Suite(.ownThread) struct DamagedDirectoryTests {
    private let files = RealFileSystem()

    private static let verbs = [
        ["log"], ["log", "-n", "1"], ["log", "-r"], ["log", "-o", "json"], ["log", "-q"],
        ["log", "-F", "author"], ["log", "--stats"], ["log", "--stats", "-o", "json"],
        ["log", "--plot"], ["log", "show", "2"], ["log", "-t", "nobody"], ["log", "-O", "Team/1"],
        ["blame", "Team/1"], ["blame", "Team/1", "-o", "json"], ["history", "Team/1"],
        ["show", "Team/1"], ["show", "Team/1", "-o", "json"], ["show", "Team/1", "--at", "2"],
        ["diff", "1"], ["vacuum", "--before", "3", "--dry-run"], ["disk-usage"],
        ["disk-usage", "-o", "json"], ["verify"],
    ]

    /// The offset of the damaged byte: in the magic, the version, the log's id, the position, the
    /// checksum.
    private static let offsets: [UInt64] = [0, 7, 8, 20, 40, 60]

    /// Returns the verbs to run for a damaged offset.
    ///
    /// Each verb is run for two of the offsets, in a deep run for all of them.
    private static func verbs(after offset: UInt64) -> [[String]] {
        let number = offsets.firstIndex(of: offset) ?? 0
        let step = Volume.of(offsets.count / 2, deep: 1)
        return verbs.indices.filter { ($0 + number) % step == 0 }.map { verbs[$0] }
    }

    @Test(arguments: offsets)
    func `every reader of a directory reports a segment whose beginning is damaged`(
        offset: UInt64
    ) throws {
        let journal = try MadeJournal(transactions: 4, bytes: 10)
        try CommandRun("tandem", ["rebuild", "-D", journal.store]).check()
        let segment = try #require(try segments(of: journal.store).last)
        try flip(segment, at: offset)
        for verb in Self.verbs(after: offset) {
            let run = try CommandRun("tandem", verb + ["-D", journal.store])
            // Formats for programs print only the name of the file.
            let name = segment.split(separator: "/").last.map(String.init) ?? ""
            expect(run, 1, name)
            #expect(
                !run.output.contains("because the journal begins at 1\n"),
                "\(verb): \(run.output)")
        }
    }

    @Test func `a damaged beginning of the newest segment is reported by every query`() throws {
        let journal = try MadeJournal(
            transactions: Volume.of(1_600, deep: 3_000), bytes: 100, segmentBytes: 64 << 10)
        try CommandRun("tandem", ["rebuild", "-D", journal.store]).check()
        let newest = try #require(try segments(of: journal.store).last)
        try flip(newest, at: 3)
        for verb in [
            ["log", "-n", "1"], ["log", "--to", "5"], ["log", "--stats"], ["blame", "Team/7"],
            ["history", "Team/7"], ["show", "Team/7"], ["diff", "1", "3"], ["disk-usage"],
            ["vacuum", "--before", "1500", "--dry-run"],
        ] {
            expect(
                try CommandRun("tandem", verb + ["-D", journal.store]), 1, String(newest.suffix(20))
            )
        }
    }
}

import Foundation
import Tandem
import TandemIO
import Testing

/// `tandem log` over journals of many segments.
///
/// All directions agree, even after damage and after a clock was set back.
@Suite(.ownThread) struct LogReadingTests {
    private func log(_ journal: MadeJournal, _ options: String...) throws -> [Int64] {
        let format = ["-o", "json", "--output-fields", "position"]
        return try CommandRun("tandem", ["log", "-D", journal.store] + format + options)
            .json.compactMap { $0["position"]?.int }
    }

    @Test func `directions, pages and filters agree over many segments`() throws {
        let journal = try MadeJournal(
            transactions: 2_500, bytes: 100, segmentBytes: 64 << 10)
        let all = try log(journal)
        #expect(all == Array(1...2_501))
        #expect(try log(journal, "-r") == all.reversed())
        for count in [1, 255, 256, 257, 1_000, 5_000] {
            #expect(try log(journal, "-n", "\(count)") == Array(all.suffix(count)))
            #expect(try log(journal, "-r", "-n", "\(count)") == all.suffix(count).reversed())
        }
        #expect(try log(journal, "-t", "rare") == [1_001, 2_001])
        #expect(try log(journal, "-t", "rare", "-r") == [2_001, 1_001])
        #expect(try log(journal, "-t", "rare", "-n", "1") == [2_001])
        #expect(try log(journal, "--from", "300", "--to", "301", "-r") == [301, 300])
        #expect(try log(journal, "-O", "Team/7", "-n", "3") == [8])
    }

    @Test func `damage is reported as one gap, and everything else is printed in every direction`()
        throws
    {
        let journal = try MadeJournal(
            transactions: 600, bytes: 1_000, segmentBytes: 64 << 10)
        let folder = journal.store + "/journal"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { $0.hasSuffix(".journal") }.sorted()
        try #require(names.count > 5)
        let path = folder + "/" + names[3]
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.seek(toOffset: 30_000)
        try handle.write(contentsOf: Data(repeating: 0xab, count: 3_000))
        try handle.close()
        let run = try CommandRun("tandem", ["log", "-D", journal.store, "-o", "cat"])
        #expect(run.code == 1)
        #expect(run.lines.count { $0.hasPrefix("tandem: gap: \(path)") } == 1)
        let left = try log(journal)
        #expect((595...600).contains(left.count) && Set(left).count == left.count)
        #expect(run.lines.count { !$0.hasPrefix("tandem:") } == left.count)
        #expect(try log(journal, "-r") == left.reversed())
        #expect(try log(journal, "-n", "10000") == left)
        let csv = try CommandRun("tandem", ["log", "-D", journal.store, "-o", "csv", "-r"])
        let positions = csv.output.split(separator: "\r\n").dropFirst()
            .compactMap { Int64($0.prefix { $0 != "," }) }
        #expect(Set(positions) == Set(left))
    }

    @Test func `a model that can't be decoded is reported even in a later range`() throws {
        let journal = try MadeJournal(transactions: 3, bytes: 10)
        let words = ["log", "-D", journal.store, "--from", "6"]
        try journal.addCutModel()
        let run = try CommandRun("tandem", words)
        expect(run, 1, "transaction 5: ", "1 gap in \(journal.store)/journal", "Team/90")
    }

    @Test func `a time may begin with a dash, and no number is too large`() throws {
        let journal = try MadeJournal(transactions: 20, bytes: 10)
        #expect(try log(journal, "-U", "-1h") == log(journal))
        #expect(try log(journal, "-S", "-1h").isEmpty)
        #expect(try log(journal, "--since", "-87600h") == log(journal))
        #expect(try log(journal, "-S", "@-9223372036854.7") == log(journal))
        #expect(try log(journal, "-U", "@9223372036854.7") == log(journal))
        let beyond = try CommandRun(
            "tandem", ["log", "-D", journal.store, "--after-cursor", "18446744073709551615"])
        #expect(beyond.code == 2 && beyond.output.contains("is the largest possible position"))
    }

    @Test func `transactions that --until leaves out come after the kept cursor`() throws {
        let journal = try MadeJournal(transactions: 100, bytes: 10)
        let file = journal.store + "/cursor"
        let night = 1_792_888_200.123456
        let early = try log(journal, "-U", "@\(night + 50.5)", "--cursor-file", file)
        let late = try log(journal, "--cursor-file", file)
        #expect(early.count > 40 && early.count < 60)
        #expect(early + late == Array(1...101))
    }

    @Test func `a cursor file keeps its cursor if the reader goes away`() throws {
        // The output is more than a pipe holds, so the rest is written to a closed pipe.
        let journal = try MadeJournal(transactions: 3_000, bytes: 100)
        let file = journal.store + "/cursor"
        try CommandRun(
            "tandem", ["log", "-D", journal.store, "--to", "3", "--cursor-file", file]
        ).check()
        let kept = try String(contentsOfFile: file, encoding: .utf8)
        let run = try CommandRun(
            path: "/bin/sh",
            [
                "-c", "\"$0\" \"$@\" | head -n 1", DaemonProcess.products + "/tandem", "log", "-D",
                journal.store, "-o", "json", "--cursor-file", file,
            ])
        #expect(run.json.first?["position"]?.int == 4, "\(run.output.prefix(300))")
        #expect(try String(contentsOfFile: file, encoding: .utf8) == kept)
    }

    @Test func `an object is selected by its own entity`() throws {
        let journal = try MadeJournal(transactions: 20, bytes: 10)
        #expect(try log(journal, "-O", "Team/7") == [8])
        let other = try CommandRun("tandem", ["log", "-D", journal.store, "-O", "Player/7"])
        #expect(!other.output.contains("Team/7"), "\(other.output)")
    }

    @Test func `times are found even if the clock was set back by some minutes`() throws {
        // The clock is set back by 200 seconds at transaction 1,500.
        let second = { (number: Int) in number < 1_500 ? number : number - 200 }
        let journal = try MadeJournal(transactions: 3_000, bytes: 10, second: second)
        let night = 1_792_888_200.123456
        for start in [0, 5, 1_290, 1_310, 1_400, 1_499, 1_501, 2_799, 2_801] {
            let (since, until) = (night + Double(start), night + Double(start + 50))
            let wanted = (1...3_000).filter { (start..<(start + 50)).contains(second($0)) }
            let found = try log(journal, "-S", "@\(since)", "-U", "@\(until)")
            // The model's transaction is at second 0.
            #expect(found.filter { $0 > 1 } == wanted.map { Int64($0) + 1 }, "\(start)")
        }
    }
}

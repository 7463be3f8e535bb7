import Foundation
import Tandem
import TandemIO
import Testing

/// `tandem vacuum` and `disk-usage` as run from a shell, with and without a daemon.
@Suite(.ownThread) struct VacuumCommandTests: StoreSuite {
    let place: Place

    init() throws { place = try Place() }

    @Test @MainActor func `the daemon removes segments on request, and names readers of the rest`()
        throws
    {
        try place.serveSmallSegments()
        try place.savePages(10)
        let usage = try tandem("disk-usage")
        expect(usage, 0, "journal/0000000000000001.journal  64 KiB      positions 1 to 3")
        expect(usage, 0, "position ", "total ", ": journal 320 KiB in 5 files, ")
        let files = try tandem("disk-usage", "-o", "json").json
        #expect(files.filter { $0["kind"]?.string == "journal" }.count == 5)
        _ = try tandem("consumers", "register", "mirror", "--at", "4")
        let plan = "1 segment (64 KiB), positions 1 to 3; 4 segments (256 KiB) stay"
        let holder = "consumer mirror needs positions from 5, 192 KiB of the selected segments: "
        let dry = try tandem("vacuum", "--size", "64K", "--dry-run")
        expect(dry, 0)
        #expect(dry.lines == ["would remove \(plan)", holder + "these are kept"])
        expect(
            try tandem("vacuum", "--size", "64K"), 1, "remove positions 1 to 3 permanently?",
            "nothing was changed")
        let done = try tandem("vacuum", "--before", "4", "--yes")
        #expect(done.lines == ["would remove \(plan)", "removed \(plan)"], "\(done.output)")
        #expect(try tandem("log").lines.count == 8)
        let forced = try tandem("vacuum", "--size", "1", "--force", "--yes", "-o", "json").json
        #expect(forced.map { $0["dryRun"]?.bool } == [true, false])
        #expect(forced.last?["segments"]?.int == 3 && forced.last?["keptSegments"]?.int == 1)
        #expect(forced.last?["holders"]?.array?.first?["name"]?.string == "mirror")
        expect(try tandem("consumers", "info", "mirror"), 0, "removed transactions")
        expect(try tandem("vacuum", "--size", "1"), 0, "nothing to remove: 1 segment")
    }

    @Test @MainActor func `law 6: without a daemon vacuum takes the lock, and keeps the store`()
        throws
    {
        var daemon = try place.serveSmallSegments()
        try place.savePages(10)
        _ = try tandem("consumers", "register", "mirror", "--at", "6")
        let folder = ["-D", place.store]
        let locked = try CommandRun("tandem", ["vacuum", "--size", "1", "--yes"] + folder)
        expect(locked, 1, "held by process", "stop the daemon")
        #expect(daemon.end(SIGTERM) == 0)
        let before = try CommandRun("tandem", ["dump", "--hash"] + folder).output
        let dry = try CommandRun("tandem", ["vacuum", "--size", "1", "--dry-run"] + folder)
        let plan = "2 segments (128 KiB), positions 1 to 5; 3 segments (192 KiB) stay"
        let holder = "consumer mirror needs positions from 7, 128 KiB of the selected segments: "
        #expect(dry.lines == ["would remove \(plan)", holder + "these are kept"], "\(dry.output)")
        let done = try CommandRun("tandem", ["vacuum", "--size", "1", "--yes"] + folder)
        #expect(done.lines.last == "removed \(plan)", "\(done.output)")
        #expect(try CommandRun("tandem", ["dump", "--hash"] + folder).output == before)
        expect(try CommandRun("tandem", ["disk-usage"] + folder), 0, "positions 6 to 7")
        daemon = try place.serveSmallSegments()
        #expect(try tandem("count", "Page").output == "10\n")
        #expect(daemon.end(SIGTERM) == 0)
    }

    @Test(.enabled(if: KilledSaverTests.isInstalled, "strace is not installed or may not trace"))
    func `a segment whose time can't be read is an error, not a young segment`() throws {
        let journal = try MadeJournal(transactions: 1_000, bytes: 100, segmentBytes: 64 << 10) {
            $0 - 1_500_000_000
        }
        try CommandRun("tandem", ["rebuild", "-D", journal.store]).check()
        let words = ["vacuum", "--time", "1day", "--dry-run", "-D", journal.store]
        expect(try CommandRun("tandem", words), 0, "would remove 4 segments")
        let first = journal.store + "/journal/0000000000000001.journal"
        let reads = try FailingReads(path: first).run(words) { expect($0, 1, first, "EIO") }
        #expect(reads > 2)
    }

    @Test func `invalid input is reported in one line`() throws {
        expect(try tandem("vacuum"), 2, "give --size, --time or --before")
        expect(try tandem("vacuum", "--size", "many"), 2, "512M or 2G, not many")
        expect(try tandem("vacuum", "--size=-1"), 2, "--size must be a number of bytes")
        expect(try tandem("vacuum", "--time", "long"), 2, "12h or 30days, not long")
        expect(try tandem("vacuum", "--size", "1"), 3, "no daemon listens")
        expect(try tandem("disk-usage"), 3, "no daemon listens")
        let none = place.path + "/none"
        for verb in [["vacuum", "--size", "1"], ["disk-usage"]] {
            let run = try CommandRun("tandem", verb + ["-D", none])
            expect(run, 1, none)
            #expect(run.lines.count == 1, "\(run.output)")
            let empty = try CommandRun("tandem", verb + ["-D", place.path])
            expect(empty, 1, "-D takes the directory of a store")
        }
    }
}

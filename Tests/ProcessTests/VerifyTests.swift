import Foundation
import Tandem
import TandemIO
import TandemModel
import TandemStore
import Testing

/// `tandem verify` on intact and damaged journals and stores; each damage is reported with file and
/// offset.
@Suite(.ownThread) struct VerifyTests {
    let place: Place
    let files = RealFileSystem()

    init() throws { place = try Place() }

    private func verify(_ arguments: String...) throws -> CommandRun {
        try CommandRun("tandem", ["verify", "-D", place.store] + arguments)
    }

    @Test @MainActor func `law 6: an intact store has no problems, with and without a daemon`()
        throws
    {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        expect(try verify(), 0, "journal: 5 segments, 320 KiB, positions 1 to 11, ", "no problems")
        // The store is at its last checkpoint, whose position is not known here.
        expect(
            try verify("--deep"), 0, ", equal to a replay of the journal up to position ",
            "no problems")
        #expect(daemon.end(SIGTERM) == 0)
        let run = try verify("--deep", "--scratch", place.path + "/scratch")
        expect(run, 0, "store: at position 11, equal to a replay of the journal up to position 11")
        #expect(!files.exists(place.path + "/scratch"))
        let json = try verify("-o", "json").json
        #expect(json.map { $0["problems"]?.int } == [0] && json[0]["last"]?.int == 11)
    }

    @Test @MainActor func `each damaged batch is a gap with its file and offset`() throws {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
        let segments = try segments(of: place.store)
        let (second, fourth) = (segments[1], segments[3])
        // In the first batch of each segment, which begins after the header's page.
        try flip(second, at: 4_096 + 200)
        try flip(fourth, at: 4_096 + 200)
        let run = try verify()
        expect(run, 1, "2 problems in \(place.store)")
        expect(run, 1, "gap: \(second) at offset 4096: the checksum of batch ")
        expect(run, 1, "gap: \(fourth) at offset 4096: the checksum of batch ")
        let json = try verify("-o", "json").json
        let gaps = json.filter { $0["kind"]?.string == "gap" }
        #expect(gaps.map { $0["path"]?.string } == [second, fourth])
        #expect(gaps.allSatisfy { $0["first"] == $0["last"] && $0["offset"]?.int == 4_096 })
        #expect(json.last?["transactions"]?.int == 9)
        // A damaged journal can't be compared with the store.
        expect(try verify("--deep"), 1, "store and journal were not compared")
    }

    @Test @MainActor func `garbage after a finished segment and a missing segment are found`()
        throws
    {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
        let first = try segments(of: place.store)[0]
        let file = try files.open(first, .readWrite)
        let end = try file.size() - 8
        try file.write([1], at: end)
        file.close()
        expect(try verify(), 1, "garbage: \(first) at offset \(end): ", "1 problem in")
        // The daemon refuses to start too.
        let daemonRun = try CommandRun(
            "tandemd", ["--store", place.store, "--socket", place.socket])
        #expect(daemonRun.code == 78, "\(daemonRun.output)")
        try files.remove(try segments(of: place.store)[2])
        expect(try verify(), 1, "gap: ", "2 problems in", "are missing")
    }

    @Test @MainActor func `segments removed by something other than retention are reported`()
        throws
    {
        var daemon = try place.serveSmallSegments()
        try place.savePages(10)
        expect(
            try CommandRun("tandem", ["vacuum", "--before", "4", "-y", "--socket", place.socket]), 0
        )
        #expect(daemon.end(SIGTERM) == 0)
        // Segments removed by `vacuum` do not count as missing.
        expect(try verify(), 0, "positions 4 to 11", "no problems")
        try files.remove(try segments(of: place.store)[0])
        let text = "positions 4 to 5 are missing: segments were removed, but not by"
        expect(try verify(), 1, "gap: \(place.store)/journal: \(text)")
        expect(try CommandRun("tandem", ["check", "-D", place.store]), 0, text, "no faults")
        daemon = try DaemonProcess(
            "tandemd", ["--store", place.store, "--socket", place.socket, "--log-level", "info"])
        let output = daemon.readOutput { $0.contains("ready:") }
        #expect(
            output.contains("segments-missing: message=\"\(place.store)/journal: \(text)"),
            "\(output)")
        #expect(daemon.end(SIGTERM) == 0)
        // The remedy that the message names.
        try files.remove(place.store + "/journal/oldest")
        expect(try verify(), 0, "no problems")
        daemon = try place.serveSmallSegments()
        #expect(daemon.end(SIGTERM) == 0)
        expect(try verify(), 0, "no problems")
        #expect(files.exists(place.store + "/journal/oldest"))
    }

    @Test @MainActor func `law 6: a store that differs from its journal is reported`() throws {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
        let path = place.store + "/store"
        let dump = try CommandRun("tandem", ["dump", "-D", place.store])
        let line = try #require(dump.lines.first { $0.hasPrefix("row ") })
        let digits = Array(line.split(separator: " ")[1])
        let key = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        let store = try Store.open(
            path: path, newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        // Delete a row that the journal has.
        try store.repair([.delete(.rows, key: key)])
        store.close()
        expect(try verify(), 0, "no problems")
        let run = try verify("--deep")
        expect(run, 1, "difference: \(path)/data.mdb: the store lacks row ")
        expect(
            run, 1, ", which a replay of the journal produces",
            "store: at position 11, compared at position 11")
    }

    @Test @MainActor func `a store ahead of its journal and a missing store are reported`() throws {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
        let last = try #require(try segments(of: place.store).last)
        try files.remove(last)
        expect(try verify(), 1, "the store is at position 11, but the journal ends at 9")
        try files.removeTree(place.store + "/store")
        expect(try verify(), 1, "store: \(place.store)/store/data.mdb: there is no store; ")
        expect(try verify("--scratch", "x"), 2, "need --deep")
        let none = try CommandRun("tandem", ["verify", "-D", place.path])
        expect(none, 1, "there is no journal in")
    }

    /// Dumps contain no indexes, so a comparison with the journal can't find a wrong index.
    @Test @MainActor func `verify --deep also finds entries that contradict the rows`() throws {
        let daemon = try place.serveSmallSegments()
        try place.savePages(10)
        #expect(daemon.end(SIGTERM) == 0)
        expect(try verify("--deep"), 0)
        let store = try Store.open(
            path: place.store + "/store",
            newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 0))
        try store.repair([.put(.indexes, key: [0, 9, 1, 2], value: [])])
        store.close()
        expect(try verify("--deep"), 1, "store: \(place.store)/store/data.mdb: ", "indexes")
        expect(try verify(), 0)
    }
}

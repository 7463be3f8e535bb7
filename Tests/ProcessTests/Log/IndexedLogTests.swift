import Foundation
import Tandem
import TandemIO
import TandemJournal
import Testing

@testable import tandem

/// `tandem` on a directory whose sealed segments have indexes.
///
/// It prints the same as without indexes, but reads much less.
@Suite(.ownThread) struct IndexedLogTests {
    private let files = RealFileSystem()
    private let journal: MadeJournal
    private var folder: String { journal.store + "/journal" }

    /// The journal that each test copies.
    private static let made = Result {
        try MadeJournal(transactions: 3_000, bytes: 100, segmentBytes: 64 << 10)
    }

    init() throws { journal = try MadeJournal(copyOf: try Self.made.get()) }

    /// Makes the indexes as a daemon does.
    private func makeIndexes(_ reading: @escaping PayloadReading = PayloadKeys.ofTransaction) throws
    {
        var options = JournalOptions()
        options.segmentBytes = 64 << 10
        options.payloadReading = reading
        let (opened, _) = try Journal.open(
            directory: folder, fileSystem: files, options: options,
            identityIfNew: LogIdentity(high: 1, low: 2), appliedPosition: nil)
        opened.finishIndexes()
        #expect(opened.indexing.failure == nil)
        try opened.close()
    }

    private func paths(_ suffix: String) throws -> [String] {
        try files.list(folder).filter { $0.hasSuffix(suffix) }.map { folder + "/" + $0 }
    }

    private static let questions = [
        "log -O Team/7", "log -O Team/2990 -r", "log -E Team -n 5 -o json", "log -E Player",
        "log -p Team.wins -n 3", "log -O Team/5 -O Team/1500 -o json", "log object=Team/30",
        "log entity=Team -n 2", "log entity=Player", "log -O Team/20 -t nobody",
        "log -E Team --from 100 --to 103", "blame Team/1500", "history Team/20", "show Team/44",
        "log show 1700", "log -O Team/9999",
    ]

    @Test func `the output is the same with indexes, without them and with damaged ones`() throws {
        func answers() throws -> [String] {
            try Self.questions.map { question in
                let run = try journal.tandem(question.split(separator: " ").map(String.init))
                return "\(question): \(run.code)\n\(run.output)"
            }
        }
        let plain = try answers()
        #expect(plain[0].contains("Team/7"))
        try makeIndexes()
        let indexes = try paths(".index")
        #expect(indexes.count == (try paths(".journal").count) - 1 && indexes.count > 5)
        #expect(try answers() == plain)
        try flip(indexes[0], at: 4_200)
        try flip(indexes[1], at: 20)
        try files.remove(indexes[2])
        #expect(try answers() == plain)
        // The directory was only read, so no index was repaired.
        #expect(!files.exists(indexes[2]))
    }

    @Test func `segments without matches are not read, so that damage in them has no effect`()
        throws
    {
        try makeIndexes()
        let segments = try paths(".journal")
        try flip(segments[3], at: 20_000)
        let object = try journal.tandem(["log", "-O", "Team/2500"])
        #expect(object.code == 0 && object.output.contains("Team/2500"))
        #expect(try journal.tandem(["blame", "Team/2500"]).code == 0)
        #expect(try journal.tandem(["log", "-E", "Player"]).code == 0)
        #expect(
            try journal.tandem(["log", "-O", "Team/2500", "-t", "often", "-F", "op"]).code == 0)
        // A log of all teams reads the damaged segment.
        #expect(try journal.tandem(["log", "-E", "Team"]).code == 1)
        for path in try paths(".index") { try files.remove(path) }
        let scanned = try journal.tandem(["log", "-O", "Team/2500"])
        #expect(scanned.code == 1 && scanned.output.contains("gap:"))
    }

    @Test func `an entity of a model that the store has not applied is not skipped`() throws {
        #expect(try journal.tandem(["rebuild"]).code == 0)
        try journal.addClubs(1_500, segmentBytes: 64 << 10)
        let plain = try journal.tandem(["log", "-E", "Team", "-n", "9"])
        #expect(plain.output.contains("Club/101500"), "\(plain.output)")
        let count = try paths(".journal").count
        #expect(count > 8)
        // Only clubs in a sealed segment, and no team.
        try makeIndexes()
        let indexed = try journal.tandem(["log", "-E", "Team", "--from", "3300", "--to", "3310"])
        #expect(indexed.code == 0 && indexed.output.contains("Club/"), "\(indexed.output)")
        #expect(try journal.tandem(["log", "-E", "Team", "-n", "9"]).output == plain.output)
        // An entity that only the later model has can be selected.
        #expect(
            try journal.tandem(["log", "-E", "Club", "-n", "1"]).output.contains("Club/101500"))
    }

    @Test func `verify finds a damaged index, and one that differs from its segment`() throws {
        #expect(try journal.tandem(["rebuild"]).code == 0)
        try makeIndexes()
        let whole = try journal.tandem(["verify", "--deep"])
        #expect(whole.code == 0, "\(whole.output)")
        let usage = try journal.tandem(["disk-usage"]).output
        #expect(usage.contains("index ") && usage.contains("the index of the segment"))
        let path = try #require(try paths(".index").first)
        try flip(path, at: 4_200)
        let damaged = try journal.tandem(["verify"])
        #expect(damaged.code == 1)
        #expect(
            damaged.output.contains(
                "index: \(path): the checksum of page 0 does not match; remove the file, and the daemon"
            ))
        for path in try paths(".index") { try files.remove(path) }
        try makeIndexes { _ in nil }
        #expect(try journal.tandem(["verify"]).code == 0)
        let other = try journal.tandem(["verify", "--deep"])
        #expect(
            other.code == 1
                && other.output.contains(
                    "the index differs from one rebuilt from the segment")
        )
    }

    @Test func `vacuum removes indexes with their segments`() throws {
        #expect(try journal.tandem(["rebuild"]).code == 0)
        try makeIndexes()
        let run = try journal.tandem(["vacuum", "--before", "1500", "--yes"])
        #expect(run.code == 0, "\(run.output)")
        let (segments, indexes) = (try paths(".journal"), try paths(".index"))
        #expect(segments.count == 7)
        #expect(
            indexes.map { $0.dropLast(".index".count) }
                == segments.dropLast().map { $0.dropLast(".journal".count) })
    }
}

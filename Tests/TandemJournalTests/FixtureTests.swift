import TandemIO
import Testing

@testable import TandemJournal

/// Journals of each format version, written by the program of that time, intact and damaged.
///
/// Each is a folder in `Fixtures/v1`. Existing fixtures are never rewritten. ``FixtureMaker``
/// creates them.
@Suite(.ownThread) struct FixtureTests {
    /// The expected result of opening with full verification, and with tail verification if it
    /// differs.
    ///
    /// Damage that opening does not look for must be found by reading, with the same message.
    static let expected: [(name: String, full: String, tail: String?)] = [
        (
            "whole",
            whole(11),
            nil
        ),
        (
            "torn-tail",
            whole(10) + "; cut at 4224",
            nil
        ),
        (
            "zeros-then-garbage",
            whole(10) + "; cut at 4224",
            nil
        ),
        (
            "flipped-byte",
            "damaged: /journal/0000000000000001.journal at offset 4160: the checksum of "
                + "batch 2 does not match."
                + refused,
            nil
        ),
        (
            "lost-batch",
            "damaged: /journal/0000000000000009.journal at offset 4160: zeros in place "
                + "of batch 10, but batch 11 at offset 4224 is complete."
                + refused,
            nil
        ),
        (
            "missing-segment",
            "damaged: /journal/0000000000000009.journal at offset 0: the segment begins "
                + "with batch 9 at position 9 after checksum 3862266175, but the previous "
                + "segment ends before batch 5 at position 5 with checksum 3040908608."
                + refused,
            "damaged: /journal/0000000000000009.journal at offset 0: the segment begins "
                + "with batch 9 at position 9 after checksum 3862266175, but "
                + "/journal/0000000000000001.journal does not end there."
                + refused
        ),
        (
            "wrong-previous-checksum",
            "damaged: /journal/0000000000000009.journal at offset 0: the segment begins "
                + "with batch 9 at position 9 after checksum 3862266174, but the previous "
                + "segment ends before batch 9 at position 9 with checksum 3862266175."
                + refused,
            "damaged: /journal/0000000000000009.journal at offset 0: the segment begins "
                + "with batch 9 at position 9 after checksum 3862266174, but "
                + "/journal/0000000000000005.journal does not end there."
                + refused
        ),
        (
            "future-version",
            "unsupportedVersion: /journal/0000000000000009.journal at offset 12: the "
                + "segment has format version 2, but this program supports 1. Use the version of Tandem that wrote it.",
            nil
        ),
        (
            "foreign-log",
            "damaged: /journal/0000000000000005.journal at offset 0: the segment belongs "
                + "to another log."
                + refused,
            nil
        ),
    ]

    private static let refused = " " + JournalError.salvage

    /// Returns the text of this number of undamaged entries.
    private static func whole(_ count: Int) -> String {
        (1...count).map { number in
            let text = "transaction \(number)#######".utf8.prefix(20)
            return "\(number) " + String(decoding: text, as: UTF8.self)
        }.joined(separator: ", ")
    }

    @Test(arguments: expected)
    func `journals of version 1 open with the recorded result`(
        _ name: String, _ full: String, _ tail: String?
    ) throws {
        #expect(try outcome(name, .full) == full)
        #expect(try outcome(name, .tail) == tail ?? full)
    }

    @Test func `every fixture has an expected result`() throws {
        let names = try RealFileSystem().list(FixtureMaker.folder)
        #expect(names == Self.expected.map(\.name).sorted())
    }

    /// Runs with `TANDEM_FIXTURES=write`, and writes only missing fixtures.
    @Test(.enabled(if: ThisProcess.environment("TANDEM_FIXTURES") == "write"))
    func fixturesAreWritten() throws { try FixtureMaker.writeMissing() }

    /// Opens a copy in memory; returns the result as one text.
    private func outcome(
        _ name: String, _ verification: JournalOptions.Verification
    ) throws -> String {
        let disk = SimulatedFileSystem()
        let files = RealFileSystem()
        let folder = FixtureMaker.folder + "/" + name
        for file in try files.list(folder) {
            let bytes = try files.contents(of: folder + "/" + file, maximumBytes: 1 << 20)
            disk.install(bytes, at: directory + "/" + file)
        }
        let before = try contents(disk)
        var options = smallOptions(FixtureMaker.segmentBytes)
        options.verification = verification
        do {
            let (journal, report) = try openJournal(disk, options)
            let texts = try entries(journal, from: report.bounds.first).map {
                "\($0.position) " + String(decoding: $0.payload, as: UTF8.self)
            }
            let cut = report.cutOffset.map { "; cut at \($0)" } ?? ""
            return texts.joined(separator: ", ") + cut
        } catch let error as JournalError {
            #expect(try contents(disk) == before, "changed although refused")
            return "\(error.code): \(error)"
        }
    }

    private func contents(_ disk: SimulatedFileSystem) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        // Opening a journal writes a record of its oldest position, even if a later read is
        // refused.
        for name in try disk.list(directory) where name != JournalDirectory.oldestName {
            found[name] = disk.bytes(of: directory + "/" + name)
        }
        return found
    }
}

/// Makes the fixtures: three segments of three batches, then one kind of damage each.
enum FixtureMaker {
    static let segmentBytes = SegmentFormat.headerBytes + 256

    static let folder: String = {
        let parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
        return parts.dropLast().joined(separator: "/") + "/Fixtures/v1"
    }()

    private typealias Damage = @Sendable (inout [String: [UInt8]]) -> Void
    private static let names = [1, 5, 9].map { JournalDirectory.name(of: $0) }

    private static let damages: [(String, Damage)] = [
        ("whole", { _ in }),
        // The last byte of the last batch was not written.
        ("torn-tail", { files in files[names[2]]?[4_096 + 63 + 2 * 64] = 0 }),
        // In the body of the second batch of the first segment.
        ("flipped-byte", { files in files[names[0]]?[4_096 + 64 + 46] ^= 1 }),
        ("missing-segment", { files in files[names[1]] = nil }),
        (
            "wrong-previous-checksum",
            { files in reseal(&files, names[2]) { $0[SegmentFormat.Segment.previousChecksum] ^= 1 }
            }
        ),
        (
            "future-version",
            { files in reseal(&files, names[2]) { $0[SegmentFormat.Segment.formatVersion] = 2 } }
        ),
        (
            "foreign-log",
            { files in reseal(&files, names[1]) { $0[SegmentFormat.Segment.logID] ^= 1 } }
        ),
        // The head of the last batch was not written, its body was.
        (
            "zeros-then-garbage",
            { files in
                for offset in 4_096 + 128..<4_096 + 168 { files[names[2]]?[offset] = 0 }
            }
        ),
        // A batch of the last segment was lost, and an intact one follows.
        (
            "lost-batch",
            { files in
                for offset in 4_096 + 64..<4_096 + 128 { files[names[2]]?[offset] = 0 }
            }
        ),
    ]

    static func writeMissing() throws {
        let files = RealFileSystem()
        for (name, damage) in damages where !files.exists(folder + "/" + name) {
            var journal = try whole()
            damage(&journal)
            try files.createDirectory(folder + "/" + name, mode: 0o755)
            for (file, bytes) in journal {
                let written = try files.open(folder + "/" + name + "/" + file, .createNew)
                try written.write(bytes, at: 0)
                written.close()
            }
        }
    }

    /// Returns the segments of an undamaged journal by name; each batch takes 64 bytes.
    private static func whole() throws -> [String: [UInt8]] {
        let disk = SimulatedFileSystem()
        let (journal, _) = try openJournal(disk, smallOptions(segmentBytes))
        for number in 1...11 {
            var batch = BatchBuilder()
            batch.append(Array("transaction \(number)#######".utf8.prefix(20)))
            try journal.append(expected: journal.bounds.last, batch: &batch)
        }
        try journal.close()
        var files: [String: [UInt8]] = [:]
        for name in try disk.list(directory) where name.hasSuffix(JournalDirectory.suffix) {
            files[name] = disk.bytes(of: directory + "/" + name)
        }
        return files
    }

    /// Changes a header and updates its checksum.
    private static func reseal(
        _ files: inout [String: [UInt8]], _ name: String, _ change: (inout [UInt8]) -> Void
    ) {
        guard var bytes = files[name] else { return }
        change(&bytes)
        let covered = bytes[SegmentFormat.Segment.formatVersion..<SegmentFormat.headerBytes]
        let sum = CRC32C.checksum(covered)
        bytes.withUnsafeMutableBytes { $0.put(sum, at: SegmentFormat.Segment.checksum) }
        files[name] = bytes
    }
}

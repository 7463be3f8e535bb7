import TandemIO
import TestSupport
import Testing

@testable import TandemJournal

/// The directory of every journal under test.
let directory = "/journal"
let identity = LogIdentity(high: 0x1122_3344_5566_7788, low: 0x99AA_BBCC_DDEE_FF00)

/// Returns options with small segments and a known salt.
func smallOptions(_ segmentBytes: Int = 8_192) -> JournalOptions {
    var options = JournalOptions()
    options.segmentBytes = segmentBytes
    options.makeSalt = { 0x5EED_5EED }
    return options
}

func openJournal(
    _ disk: SimulatedFileSystem, _ options: JournalOptions = smallOptions(), applied: UInt64? = nil
) throws -> (journal: Journal, report: RecoveryReport) {
    try Journal.open(
        directory: directory, fileSystem: disk, options: options, identityIfNew: identity,
        appliedPosition: applied)
}

/// Returns a payload whose bytes depend on its position.
func payload(_ position: UInt64, bytes: Int = 40) -> [UInt8] {
    let start = Int(position &* 31 & 0xFF)
    return Array(ramp[start..<start + bytes])
}

/// The bytes 0 to 255, repeated; precomputed because payloads are compared a million times.
private let ramp = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }

/// Appends one batch of `count` payloads after the last one.
@discardableResult
func appendBatch(_ journal: Journal, _ count: Int = 1, bytes: Int = 40) throws -> AppendOutcome {
    var batch = BatchBuilder()
    let last = journal.bounds.last
    for number in 1...UInt64(count) { batch.append(payload(last + number, bytes: bytes)) }
    return try journal.append(expected: last, batch: &batch)
}

/// Returns all entries from a position to the tail.
func entries(_ journal: Journal, from position: UInt64 = 1) throws -> [Entry] {
    let cursor = try journal.read(from: position)
    var found: [Entry] = []
    while let entry = try cursor.next() { found.append(entry) }
    return found
}

func items(_ reader: JournalReader) throws -> [JournalReader.Item] {
    var found: [JournalReader.Item] = []
    while let item = try reader.next() { found.append(item) }
    return found
}

/// Returns the error of a call that must fail.
func journalError(_ body: () throws -> Void) -> JournalError? {
    do {
        try body()
        Issue.record("expected an error")
        return nil
    } catch {
        return error as? JournalError
    }
}

let firstSegment = directory + "/0000000000000001.journal"

import TandemIO
import TandemJournal
import TestSupport
import Testing

/// Random appends, trims, epochs, reads, full disks and power cuts, compared with a list of the
/// acknowledged entries.
@Suite(.ownThread) struct RandomLogTests {
    @Test(arguments: [Durability.full, .relaxed])
    func `laws 1 to 3 hold over random appends, trims, epochs and crashes`(_ durability: Durability)
        throws
    {
        for number in 0..<20 as Range<UInt64> {
            var log = try RandomLog(seed: seed &+ number, durability)
            for _ in 0..<60 { try log.step() }
        }
    }
}

/// A journal and its guarantees.
private struct RandomLog {
    private let name: Comment
    private let durability: Durability
    private let disk = SimulatedFileSystem()
    private var random: SeededGenerator
    private var journal: Journal
    private var reader: JournalCursor
    private var lastRead: UInt64 = 0
    /// The last position that must survive a power cut.
    private var kept: UInt64 = 0
    private var trimmed: UInt64 = 1
    private var epoch: UInt32 = 1

    init(seed: UInt64, _ durability: Durability) throws {
        name = "seed \(seed), \(durability)"
        random = SeededGenerator(seed: seed)
        self.durability = durability
        disk.recordsOperations = false
        journal = try Self.open(disk, durability).journal
        reader = journal.source.read(from: 1, fileSystem: disk)
    }

    private static func open(
        _ disk: SimulatedFileSystem, _ durability: Durability
    ) throws -> (journal: Journal, report: RecoveryReport) {
        var options = smallOptions()
        options.durability = durability
        return try openJournal(disk, options)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0: try cutPower(.tears)
        case 1: try cutPower(.losesAll)
        case 2: try fail()
        case 3: try reopen()
        case 4: try trim()
        case 5:
            try journal.beginEpoch()
            epoch += 1
        case 6: try fill()
        case 7: try sync()
        case 8, 9: try read()
        default: try append()
        }
        #expect(journal.identity.epoch == epoch, name)
        #expect(journal.bounds.last >= kept, name)
    }

    private mutating func append() throws {
        let count = Int.random(in: 1...4, using: &random)
        let bytes = Int.random(in: 0...1_800, using: &random)
        let last = journal.bounds.last
        let outcome = try appendBatch(journal, count, bytes: bytes)
        #expect(outcome == .committed(last + 1...last + UInt64(count)), name)
        if durability == .full { kept = journal.bounds.last }
    }

    /// Makes an append fail in a write or a sync: the failure is final, and the batch is later
    /// present as a whole or not at all.
    private mutating func fail() throws {
        disk.faults.writesUntilFailure = Bool.random(using: &random) ? 1 : nil
        disk.faults.bytesKept = Int.random(in: 0...300, using: &random)
        if disk.faults.writesUntilFailure == nil { disk.faults.syncsUntilFailure = 1 }
        do {
            try append()
        } catch let error as JournalError where error.code == .failed {
            #expect(journalError { try appendBatch(journal) }?.code == .failed, name)
            return try cutPower(.tears)
        } catch let error as JournalError where error.code == .noSpace {
            // The fault affected the creation of a segment, which is not fatal to the log.
        }
        disk.faults = SimulatedFaults()
    }

    /// Fills the disk for a while: appends are refused before anything is written, and succeed
    /// afterwards.
    private mutating func fill() throws {
        disk.capacityBytes = disk.usedBytes
        for _ in 0..<12 {
            do {
                try append()
            } catch let error as JournalError {
                #expect(error.code == .noSpace, name)
            }
        }
        disk.capacityBytes = nil
        try append()
    }

    private mutating func sync() throws {
        try journal.sync()
        kept = journal.bounds.last
    }

    private mutating func trim() throws {
        try sync()
        let bounds = journal.bounds
        trimmed = UInt64.random(in: bounds.first...bounds.last + 1, using: &random)
        try journal.trim(below: trimmed)
        #expect(journal.bounds.first <= max(trimmed, bounds.first), name)
    }

    private mutating func cutPower(_ severity: CrashSeverity) throws {
        disk.crash(seed: random.next(), severity: severity)
        let (opened, report) = try Self.open(disk, durability)
        if report.raisedEpoch { epoch += 1 }
        #expect(report.raisedEpoch == (durability == .relaxed), name)
        journal = opened
        try check(isSameHistory: !report.raisedEpoch)
    }

    private mutating func reopen() throws {
        let last = journal.bounds.last
        try journal.close()
        journal = try Self.open(disk, durability).journal
        #expect(journal.bounds.last == last, name)
        kept = last
        try check(isSameHistory: true)
    }

    /// Checks that entries that were read still exist, unless a new epoch allows their loss.
    private mutating func check(isSameHistory: Bool) throws {
        #expect(journal.bounds.last >= kept, name)
        if isSameHistory { #expect(journal.bounds.last >= lastRead, "law 1, \(name)") }
        kept = journal.bounds.last
        let first = journal.bounds.first
        let found = try entries(journal, from: first)
        #expect(found.map(\.position) == Array(first..<journal.bounds.last + 1), name)
        for entry in found {
            #expect(entry.payload == payload(entry.position, bytes: entry.payload.count), name)
        }
        lastRead = min(max(lastRead, first - 1), journal.bounds.last)
        reader = journal.source.read(from: lastRead + 1, fileSystem: disk)
    }

    /// Checks that a follower receives each position once and in order (law 2), or the error that
    /// its position has expired.
    private mutating func read() throws {
        do {
            for _ in 0..<Int.random(in: 1...20, using: &random) {
                guard let entry = try reader.next() else { return }
                #expect(entry.position == lastRead + 1, "law 2, \(name)")
                lastRead = entry.position
            }
        } catch {
            guard error.code == .expired else { throw error }
            #expect(lastRead + 1 < journal.bounds.first, name)
            lastRead = journal.bounds.first - 1
            reader = journal.source.read(from: lastRead + 1, fileSystem: disk)
        }
    }
}

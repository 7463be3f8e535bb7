import TandemIO
import TestSupport
import Testing

@testable import TandemJournal

@Suite(.ownThread) struct FaultTests {
    let disk = SimulatedFileSystem()

    @Test func `a failed sync is final`() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        disk.faults.syncsUntilFailure = 1
        let error = journalError { try appendBatch(journal) }
        #expect(error?.code == .failed && error?.cause?.operation == .sync)
        let before = disk.operations.count
        #expect(journalError { try appendBatch(journal) } == error)
        #expect(journalError { try journal.reserve(bytes: 1) } == error)
        #expect(disk.operations.count == before)
        #expect(journal.bounds.last == 1)
        #expect(try entries(journal).count == 1)
    }

    @Test func `a failed write is final, and its partial batch is cut off`() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        disk.faults.writesUntilFailure = 1
        disk.faults.bytesKept = 30
        #expect(journalError { try appendBatch(journal) }?.code == .failed)
        #expect(journalError { try appendBatch(journal) }?.code == .failed)
        disk.crash(seed: 1, severity: .keepsAll)
        let (_, report) = try openJournal(disk)
        #expect(report.bounds.last == 1 && report.cutOffset != nil)
    }

    @Test func `a full disk is detected before a batch is accepted`() throws {
        disk.capacityBytes = 10_000
        let (journal, _) = try openJournal(disk)
        var saves = 0
        var refusal: JournalError?
        while refusal == nil, saves < 100 {
            do {
                try appendBatch(journal, 1, bytes: 500)
                saves += 1
            } catch {
                refusal = error as? JournalError
            }
        }
        #expect(refusal?.code == .noSpace)
        #expect(try entries(journal).count == saves)
        disk.capacityBytes = nil
        #expect(
            try appendBatch(journal) == .committed(UInt64(saves + 1)...UInt64(saves + 1)))
        #expect(try entries(journal).count == saves + 1)
    }

    @Test func `a failed spare segment does not fail the journal`() throws {
        // The file can't be opened, reserved, filled or flushed, or its header can't be written or
        // flushed.
        let faults: [(inout SimulatedFaults) -> Void] = [
            { $0.opensUntilFailure = 1 }, { $0.writesUntilFailure = 1 },
            { $0.syncsUntilFailure = 1 },
            { $0.opensUntilFailure = 2 }, { ($0.writesUntilFailure, $0.writeErrno) = (2, 28) },
            { $0.syncsUntilFailure = 2 },
        ]
        for (number, fault) in faults.enumerated() {
            let disk = SimulatedFileSystem()
            let (journal, _) = try openJournal(disk)
            fault(&disk.faults)
            let error = journalError { try journal.beginEpoch() }
            #expect(error?.code == .noSpace && error?.cause != nil, "fault \(number)")
            #expect(!disk.exists(directory + "/spare.new"), "fault \(number)")
            #expect(journal.identity.epoch == 1)
            try appendBatch(journal)
            try journal.beginEpoch()
            try appendBatch(journal)
            disk.crash(seed: 1, severity: .losesAll)
            #expect(try openJournal(disk).report.bounds.last == 2, "fault \(number)")
        }
    }

    @Test func `a full disk is predicted while the segment still has space`() throws {
        let (journal, _) = try openJournal(disk)
        disk.capacityBytes = disk.usedBytes
        while journal.spareFailure == nil { try appendBatch(journal, 1, bytes: 300) }
        #expect(journal.spareFailure?.code == .noSpace)
        try appendBatch(journal, 1, bytes: 300)
    }

    @Test func `a partial batch on a full disk is cut off, and the next batch begins a segment`()
        throws
    {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        // Simulates a file system on which overwriting zeros requires new blocks.
        (disk.faults.writesUntilFailure, disk.faults.writeErrno) = (1, 28)
        disk.faults.bytesKept = 30
        #expect(journalError { try appendBatch(journal) }?.code == .noSpace)
        let end = SegmentFormat.headerBytes + SegmentFormat.frameBytes(body: 44)
        #expect(disk.bytes(of: firstSegment)?.count == end)
        #expect(try appendBatch(journal) == .committed(2...2))
        #expect(try disk.list(directory).count { $0.hasSuffix(".journal") } == 2)
        #expect(try entries(journal).count == 2)
        var options = smallOptions()
        options.verification = .full
        disk.crash(seed: 1, severity: .losesAll)
        #expect(try openJournal(disk, options).report.bounds.last == 2)
    }

    @Test func `a partial batch that can't be cut off is a final failure`() throws {
        let (journal, _) = try openJournal(disk)
        (disk.faults.writesUntilFailure, disk.faults.writeErrno) = (1, 28)
        disk.faults.syncsUntilFailure = 1
        #expect(journalError { try appendBatch(journal) }?.code == .failed)
        #expect(journalError { try appendBatch(journal) }?.code == .failed)
    }

    @Test func `after any failed sync the log can be opened`() throws {
        for number in 1...60 {
            let disk = SimulatedFileSystem()
            var acknowledged: UInt64 = 0
            do {
                let (journal, _) = try openJournal(disk)
                disk.faults.syncsUntilFailure = number
                while acknowledged < 20 {
                    do {
                        try appendBatch(journal, 1, bytes: 700)
                    } catch let error as JournalError where error.code == .noSpace {
                        // A segment could not be created, which is not fatal to the log.
                        #expect(error.cause?.path == directory + "/spare.new")
                    }
                    acknowledged = journal.bounds.last
                }
            } catch {
                #expect((error as? JournalError)?.code == .failed, "sync \(number): \(error)")
            }
            disk.crash(seed: UInt64(number))
            let (journal, _) = try openJournal(disk)
            #expect(journal.bounds.last >= acknowledged, "sync \(number)")
        }
    }
}

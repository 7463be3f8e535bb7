import TandemIO
import TandemJournal
import Testing

@Suite struct FaultTests {
    let disk = SimulatedFileSystem()

    @Test func failedSyncIsFinal() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        disk.faults.failingSync = 1
        let error = journalError { try appendBatch(journal) }
        #expect(error?.code == .failed && error?.cause?.operation == .sync)
        let before = disk.operations.count
        #expect(journalError { try appendBatch(journal) } == error)
        #expect(journalError { try journal.reserve(bytes: 1) } == error)
        #expect(disk.operations.count == before)
        #expect(journal.bounds.last == 1)
        #expect(try entries(journal).count == 1)
    }

    @Test func failedWriteIsFinalAndItsPartIsCut() throws {
        let (journal, _) = try openJournal(disk)
        try appendBatch(journal)
        disk.faults.failingWrite = 1
        disk.faults.bytesKept = 30
        #expect(journalError { try appendBatch(journal) }?.code == .failed)
        #expect(journalError { try appendBatch(journal) }?.code == .failed)
        disk.crash(seed: 1, severity: .keepsAll)
        let (_, report) = try openJournal(disk)
        #expect(report.bounds.last == 1 && report.cutOffset != nil)
    }

    @Test func fullDiskIsMetBeforeABatchIsAccepted() throws {
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

    @Test func everyFailingSyncLeavesALogThatOpens() throws {
        for number in 1...60 {
            let disk = SimulatedFileSystem()
            var acknowledged: UInt64 = 0
            do {
                let (journal, _) = try openJournal(disk)
                disk.faults.failingSync = number
                for _ in 0..<20 {
                    try appendBatch(journal, 1, bytes: 700)
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

import TandemIO
import TandemJournal
import Testing

@Suite struct CrashImageTests {
    /// What a run did, and how much was acknowledged before each of its operations.
    struct History {
        var disk = SimulatedFileSystem()
        /// (operations done, last acknowledged position), in order.
        var acknowledgements: [(operations: Int, last: UInt64)] = [(0, 0)]

        func acknowledged(after count: Int) -> UInt64 {
            acknowledgements.last { $0.operations <= count }?.last ?? 0
        }
    }

    func history() throws -> History {
        var history = History()
        let (journal, _) = try openJournal(history.disk)
        for round in 0..<40 {
            try appendBatch(journal, round % 3 + 1, bytes: 60 + round * 97 % 900)
            history.acknowledgements.append((history.disk.operations.count, journal.bounds.last))
            if round == 25 { try journal.trim(below: 10) }
        }
        return history
    }

    /// Entries carry their position and length, so nothing else can pass for one.
    func check(_ disk: SimulatedFileSystem, atLeast acknowledged: UInt64, _ place: Comment) throws {
        let (journal, report) = try openJournal(disk, applied: acknowledged)
        #expect(journal.bounds.last >= acknowledged, place)
        let found = try entries(journal, from: journal.bounds.first)
        #expect(
            found.map(\.position) == Array(journal.bounds.first..<journal.bounds.last + 1), place)
        for entry in found {
            #expect(entry.payload == payload(entry.position, bytes: entry.payload.count), place)
        }
        // Recovering again changes nothing, with or without a power cut in between.
        disk.crash(seed: 7, severity: .losesAll)
        let (again, second) = try openJournal(disk)
        #expect(again.bounds == report.bounds && second.cutOffset == nil, place)
    }

    @Test func law3AcknowledgedBatchesSurviveACrashAfterEveryOperation() throws {
        let history = try history()
        let count = history.disk.operations.count
        for done in 0...count {
            let severity: [CrashSeverity] = [.tears, .losesAll, .tears, .keepsAll]
            let image = history.disk.image(after: done)
            image.crash(seed: seed &+ UInt64(done), severity: severity[done % 4])
            try check(
                image, atLeast: history.acknowledged(after: done),
                "seed \(seed), after operation \(done)")
        }
    }

    @Test func law3CrashesDuringRecoveryLoseNothing() throws {
        let history = try history()
        let count = history.disk.operations.count
        for round in 0..<60 {
            let done = count - round
            let image = history.disk.image(after: done)
            image.crash(seed: seed &+ UInt64(round))
            let base = image.operations.count
            let snapshot = Disk(image)
            _ = try openJournal(image)
            for step in 0...(image.operations.count - base) {
                let copy = snapshot.restored(replaying: image.operations[base..<base + step])
                copy.crash(seed: seed &+ UInt64(step))
                try check(
                    copy, atLeast: history.acknowledged(after: done),
                    "seed \(seed), round \(round), step \(step)")
            }
        }
    }

    /// The files of a disk after a crash, where volatile and durable are the same.
    struct Disk {
        var files: [String: [UInt8]] = [:]

        init(_ disk: SimulatedFileSystem) {
            for name in (try? disk.list(directory)) ?? [] {
                files[directory + "/" + name] = disk.bytes(of: directory + "/" + name)
            }
        }

        func restored(
            replaying operations: ArraySlice<SimulatedFileSystem.Operation>
        ) -> SimulatedFileSystem {
            let disk = SimulatedFileSystem()
            for (path, bytes) in files { disk.place(bytes, at: path) }
            for operation in operations { disk.replay(operation) }
            return disk
        }
    }
}

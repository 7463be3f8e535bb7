import FoundationEssentials
import Glibc
import TandemIO
import TandemStore

/// The checks at the end of a soak, and the backups during it.
extension SoakWorld {
    /// Ends the daemon after all clients have ended, and checks the records of all clients.
    func settle(_ recording: KernelThread) throws {
        try daemon.end(SIGTERM)
        recording.join()
        try daemon.begin()
        recorder.finish()
        try tandem("backup", backup, "-D", place.store)
        try daemon.end(SIGTERM)
        try checkFiles()
        try tandem("check", "-D", place.store)
        try checkLaws()
    }

    /// Makes a backup under load, restores it, and checks the restored store.
    func backUp() throws {
        backups += 1
        try tandem("backup", backup, "-D", place.store)
        try tandem("restore", backup, "--store", restored)
        try tandem("check", "-D", restored)
        try files.removeTree(backup)
        try files.removeTree(restored)
    }

    private var backup: String { place.path + "/backup" }
    private var restored: String { place.path + "/restored" }

    private func tandem(_ arguments: String...) throws {
        let run = try CommandRun("tandem", arguments)
        if run.code != 0 { traffic.report("tandem \(arguments): \(run.code), \(run.output)") }
    }

    private func checkLaws() throws {
        var verdict = try SoakVerdict(recorder.transactions)
        let records = savers.map(\.record)
        for record in records { verdict.check(record) }
        verdict.check(total: records.reduce(0) { $0 + $1.positions.count })
        for life in watchers.flatMap(\.lives) { verdict.check(life) }
        let manifest = try StoreBackup.verify(backup)
        try tandem("restore", backup, "--store", restored)
        try verdict.check(restored, through: manifest.last, place)
        try verdict.check(place.store, through: recorder.end, place)
        for problem in verdict.problems { traffic.report(problem) }
        checkWork()
    }

    /// Whether every saver has saved, and every watcher has compared, often enough to prove
    /// something.
    var hasDoneEnough: Bool {
        savers.allSatisfy { $0.record.positions.count >= 20 }
            && watchers.allSatisfy { $0.comparisons > 0 }
    }

    /// Reports a soak that would prove nothing.
    private func checkWork() {
        let missed = watchers.flatMap(\.lives).reduce(0) { $0 + $1.missed.count }
        let comparisons = watchers.map(\.comparisons)
        if !hasDoneEnough {
            traffic.report("hardly anything was saved and compared: \(comparisons)")
        }
        for stop in expiries where stop.isUnreported {
            traffic.report("\(stop.watcher.name) was not notified that its history had expired")
        }
        if isVerbose {
            say(
                "\(recorder.end) positions, \(daemon.restartCount) restarts, "
                    + "\(comparisons.reduce(0, +)) comparisons, \(missed) expired, \(backups) backups"
            )
        }
    }

    /// Reports leftover files, and a journal above its size limit.
    ///
    /// The files of a new store, copies of torn batches, and indexes of existing segments are not
    /// leftover.
    private func checkFiles() throws {
        let journal = place.store + "/journal"
        let segments = try files.list(journal)
        for name in segments where name.hasSuffix(".index") {
            guard !segments.contains(name.replacing(".index", with: ".journal")) else { continue }
            traffic.report("an index is left over: \(name)")
        }
        let index = Self.kind("journal/" + String(repeating: "0", count: 16) + ".index")
        for kind in try Self.kinds(place.store).subtracting(kinds + [index])
        where !kind.contains(".torn") {
            traffic.report("a file is left over: \(kind)")
        }
        let bytes = try files.list(journal).reduce(0) { sum, name in
            let file = try files.open(journal + "/" + name, .read)
            defer { file.close() }
            return sum + Int(try file.size())
        }
        if bytes > SoakDaemon.capBytes + 1 << 20 {
            traffic.report("law 8: the journal has \(bytes) bytes")
        }
    }
}

extension SoakWorld.Stop {
    /// Whether the stopped watcher survived without a report of missed saves.
    ///
    /// A watcher may be killed before it receives the report, or stopped before it observed
    /// anything.
    fileprivate var isUnreported: Bool {
        guard watcher.lives.indices.contains(life) else { return false }
        let life = watcher.lives[life]
        return !life.wasKilled && life.from <= position && life.missed.isEmpty
    }
}

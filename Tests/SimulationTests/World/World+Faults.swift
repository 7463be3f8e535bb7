import FoundationEssentials
import TandemIO
import TandemJournal
import TandemModel
import TestSupport

@testable import TandemDaemon

/// Faults.
extension World {
    func disturb(_ chance: inout Chance) {
        if chance.percent(10 * traits.faultShare) { return armFaults(&chance) }
        switch chance.below(10) {
        case 0...3: disturbClient(&chance)
        case 4: fillDisk(&chance)
        case 5: trim(&chance)
        case 6: stage = min(WorldModels.count - 1, stage + 1)
        case 7: restart()
        case 8: if traits.faultShare > 0 { restore(&chance) }
        default: compareStores()
        }
    }

    /// Adds faults to a harsh world, from a separate stream.
    func disturbMore(_ step: Int) {
        var chance = Chance(plan.seed, UInt64(step), 1)
        guard chance.percent(8) else { return }
        switch chance.below(4) {
        case 0: restart()
        case 1: trim(&chance)
        case 2: disturbClient(&chance)
        default: armFaults(&chance)
        }
    }

    /// Plans faults of the daemon's process.
    func armFaults(_ chance: inout Chance) {
        var faults = Machine.Faults()
        switch chance.below(5) {
        case 0, 1: faults.deathAtOperation = chance.number(1...8)
        case 2: faults.errorAtOperation = chance.number(1...8)
        case 3:
            faults.deathAtCommit = chance.number(1...2)
            faults.isAfterCommit = chance.percent(50)
        default: faults.deathAtRoundEnd = chance.number(1...6)
        }
        record("armed", UInt64(faults.deathAtOperation ?? 0), UInt64(faults.errorAtOperation ?? 0))
        machine.arm(faults, seed: chance.next())
    }

    private func disturbClient(_ chance: inout Chance) {
        guard let client = chance.pick(clients.filter { $0.pipe != nil }) else { return }
        let kind = chance.below(6)
        record("disturb", UInt64(client.number), UInt64(kind))
        switch kind {
        case 0: client.leave { $0.drop() }
        case 1: client.leave { $0.reset() }
        case 2: client.pipe?.closeSending()
        case 3: client.isStalled.toggle()
        case 4:
            client.sendRubbish((0..<chance.number(1...40)).map { _ in UInt8(chance.below(256)) })
        default:
            // The client's process ends in the middle of a message.
            let cut = chance.below((client.pipe?.outgoing.count ?? 0) + 1)
            client.pipe?.carry(cut)
            client.leave { $0.reset() }
        }
    }

    // MARK: The disk

    private func fillDisk(_ chance: inout Chance) {
        if machine.disk.capacityBytes != nil {
            machine.disk.capacityBytes = nil
        } else {
            counters.full += 1
            let paths = (try? machine.disk.list(machine.journal)) ?? []
            let used = paths.reduce(0) {
                $0 + (machine.disk.bytes(of: machine.journal + "/" + $1)?.count ?? 0)
            }
            machine.disk.capacityBytes = used + chance.below(10_000)
        }
        record("capacity", UInt64(machine.disk.capacityBytes ?? 0))
    }

    private func trim(_ chance: inout Chance) {
        guard let daemon else { return }
        let bounds = daemon.committer.journal.bounds
        let limit = daemon.committer.store.checkpointPosition + 1
        guard limit > bounds.first else { return }
        let below = bounds.first + UInt64(chance.below(Int(limit - bounds.first) + 1))
        record("trim", below)
        counters.trims += 1
        do {
            try daemon.committer.journal.trim(below: below)
        } catch {
            oracle.expect(
                machine.isDead || machine.hasFailed, 0, "the journal cannot be trimmed: \(error)")
            crash(&chance)
        }
    }

    // MARK: The end of a process

    /// Stops the daemon as an operator would, and starts it.
    private func restart() {
        guard let daemon else { return }
        record("restart")
        daemon.engine.reads.close()
        do {
            try daemon.committer.close()
        } catch {
            let isOurs =
                machine.isDead || machine.hasFailed || machine.disk.capacityBytes != nil
            oracle.expect(isOurs, 0, "the daemon does not stop: \(error)")
            daemon.vanish()
        }
        for pipe in pipes { pipe.shutdown() }
        self.daemon = nil
        machine.endProcess()
        start()
    }

    /// Makes a backup of everything, or restores the existing one.
    private func restore(_ chance: inout Chance) {
        machine.disarm()
        guard let backup else {
            restart()
            guard let daemon else { return }
            daemon.engine.reads.close()
            try? daemon.committer.close()
            for pipe in pipes { pipe.shutdown() }
            self.daemon = nil
            machine.endProcess()
            self.backup = Backup(machine.disk, machine.journal, directory)
            record("backup", oracle.truth.last)
            return start()
        }
        daemon?.vanish()
        daemon = nil
        dropEverything()
        machine.endProcess()
        machine.replaceDisk(backup.disk)
        self.backup = nil
        counters.restores += 1
        do {
            try directory.replaceStore(with: backup.store)
            try beginEpoch()
        } catch {
            oracle.report(3, "a backup cannot be restored: \(error)")
        }
        record("restore")
        start()
    }

    /// Raises the epoch of a restored journal above every epoch used before.
    private func beginEpoch() throws {
        let target = oracle.epoch + 1
        machine.begin()
        var options = JournalOptions()
        options.segmentBytes = settings.segmentBytes
        options.durability = settings.durability
        let salt = settings.salt
        options.makeSalt = { salt }
        let (journal, _) = try Journal.open(
            directory: machine.journal, fileSystem: MachineFileSystem(machine),
            options: options, identityIfNew: LogIdentity(high: 0, low: 0), appliedPosition: nil)
        while journal.identity.epoch < target { try journal.beginEpoch() }
        try journal.close()
        machine.endProcess()
    }
}

extension DaemonLimits {
    /// Lowers limits that never end a connection, each in some of the worlds.
    mutating func makeSmall(_ chance: inout Chance) {
        if chance.percent(60) { outboundBytes = chance.number(500...20_000) }
        if chance.percent(60) { readBytes = chance.number(5_000...100_000) }
        if chance.percent(60) { batchSaves = chance.number(1...4) }
        if chance.percent(40) { batchBytes = chance.number(200...5_000) }
        if chance.percent(40) { checkpointPages = chance.number(4...40) }
        if chance.percent(50) { ringBytes = chance.number(1...4_000) }
        if chance.percent(50) { verdictTransactions = chance.number(1...10) }
        if chance.percent(50) { historyTransactions = chance.number(1...10) }
        if chance.percent(50) { historyBytes = chance.number(100...5_000) }
        if chance.percent(60) { sliceReads = chance.number(1...20) }
    }
}

/// A copy of the journal's disk and of the store, made while no daemon was running.
struct Backup {
    let disk = SimulatedFileSystem()
    let store: [UInt8]

    init?(_ other: SimulatedFileSystem, _ journal: String, _ directory: ScratchDirectory) {
        for name in (try? other.list(journal)) ?? [] {
            let path = journal + "/" + name
            if let bytes = other.bytes(of: path) { disk.install(bytes, at: path) }
        }
        guard let store = directory.storeBytes else { return nil }
        self.store = store
    }
}

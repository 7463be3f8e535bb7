import TestSupport

@testable import TandemIO
@testable import TandemStore

/// The simulated computer: its disk, its clock, the state of the daemon's process, and the planned
/// faults.
final class Machine {
    private(set) var disk = SimulatedFileSystem()
    /// The path of the journal's directory.
    let journal: String
    let clock = ManualClock(
        monotonicNanoseconds: 1_000_000_000, wallMicroseconds: 1_700_000_000_000_000)
    /// The number of the current process; files that an earlier process opened are invalid.
    private(set) var process = 0
    /// Whether the process is dead and no other has started; no operation has any effect then.
    private(set) var isDead = true
    /// Whether an operation of the process failed because of a planned fault.
    private(set) var hasFailed = false
    /// Sabotages the disk: a sync does nothing and reports success.
    var lies = false
    private var faults = Faults()
    private var chance = Chance(seed: 0)

    /// The planned faults of the process; each number counts down.
    struct Faults {
        /// The number of disk operations until the process dies, before, during or after the last
        /// of them.
        var deathAtOperation: Int?
        /// The number of disk operations until one fails with an error.
        var errorAtOperation: Int?
        /// The number of store commits until the process dies, before or after the last of them.
        var deathAtCommit: Int?
        var isAfterCommit = false
        /// The number of rounds until the process dies at a round's end, with only part of its
        /// output sent.
        var deathAtRoundEnd: Int?

        var isEmpty: Bool {
            deathAtOperation == nil && errorAtOperation == nil && deathAtCommit == nil
                && deathAtRoundEnd == nil
        }
    }

    /// The outcome of an operation.
    enum Fate {
        case happens
        case diesBefore
        case diesWithin
        case diesAfter
        case fails
    }

    init(journal: String) {
        self.journal = journal
        disk.recordsOperations = false
    }

    // MARK: Processes

    func begin() {
        process += 1
        isDead = false
        hasFailed = false
    }

    func die() { isDead = true }

    /// Ends the process; unsynced data in the kernel's cache remains, but locks don't.
    func endProcess() {
        isDead = true
        faults = Faults()
        disk.forgetLocks()
    }

    /// Ends the process, and cuts the power.
    func cutPower(seed: UInt64, _ severity: CrashSeverity) {
        endProcess()
        disk.crash(seed: seed, severity: severity)
    }

    /// Replaces the disk.
    func replaceDisk(_ other: SimulatedFileSystem) {
        disk = other
        disk.recordsOperations = false
    }

    // MARK: Faults

    func arm(_ faults: Faults, seed: UInt64) {
        self.faults = faults
        chance = Chance(seed: seed)
    }

    func disarm() { faults = Faults() }

    var isArmed: Bool { !faults.isEmpty }

    /// Returns the outcome of an operation that changes the disk.
    func fate() -> Fate {
        if Self.step(&faults.deathAtOperation) {
            isDead = true
            return [.diesBefore, .diesWithin, .diesAfter][chance.below(3)]
        }
        if Self.step(&faults.errorAtOperation) {
            hasFailed = true
            return .fails
        }
        return .happens
    }

    func part(of count: Int) -> Int { chance.below(count + 1) }

    /// Decides the outcome of a commit of the store; throws if the process is dead.
    func commit(_ moment: Store.CommitMoment) throws(StoreError) {
        let gone = StoreError(.failed, "the process is dead")
        if isDead { throw gone }
        guard moment == (faults.isAfterCommit ? .after : .before) else { return }
        guard Self.step(&faults.deathAtCommit) else { return }
        isDead = true
        throw gone
    }

    /// Decides whether the process dies at the end of a round.
    func endRound() -> Bool {
        guard Self.step(&faults.deathAtRoundEnd) else { return false }
        isDead = true
        return true
    }

    private static func step(_ counter: inout Int?) -> Bool {
        guard let value = counter else { return false }
        counter = value > 1 ? value - 1 : nil
        return value <= 1
    }
}

/// The disk as seen by one process, subject to the machine's faults.
final class MachineFileSystem: FileSystem {
    let machine: Machine
    let process: Int
    private var disk: SimulatedFileSystem { machine.disk }

    init(_ machine: Machine) {
        self.machine = machine
        process = machine.process
    }

    func check(_ operation: IOError.Operation, _ path: String) throws(IOError) {
        guard process == machine.process, !machine.isDead else {
            throw IOError(operation, path, errno: 5, detail: "the process is dead")
        }
    }

    /// Changes the disk, completely or as far as the fault allows.
    func change(
        _ operation: IOError.Operation, _ path: String, part: () -> Void = {},
        failing: () -> Void = {}, _ body: () throws(IOError) -> Void
    ) throws(IOError) {
        try check(operation, path)
        let error = IOError(operation, path, errno: 5)
        switch machine.fate() {
        case .happens: return try body()
        case .diesBefore: break
        case .diesWithin: part()
        case .fails:
            part()
            failing()
        case .diesAfter: try body()
        }
        throw error
    }

    func open(_ path: String, _ mode: OpenMode) throws(IOError) -> any File {
        if !disk.exists(path), mode == .createNew || mode == .createIfMissing {
            try change(.open, path) { () throws(IOError) in _ = try disk.open(path, mode) }
            return MachineFile(try disk.open(path, .readWrite), self)
        }
        try check(.open, path)
        return MachineFile(try disk.open(path, mode), self)
    }

    func rename(_ old: String, to new: String) throws(IOError) {
        try change(.rename, old) { () throws(IOError) in try disk.rename(old, to: new) }
    }

    func remove(_ path: String) throws(IOError) {
        try change(.remove, path) { () throws(IOError) in try disk.remove(path) }
    }

    func createDirectory(_ path: String, mode: UInt32) throws(IOError) {
        try check(.createDirectory, path)
        try disk.createDirectory(path, mode: mode)
    }

    func syncDirectory(_ path: String) throws(IOError) {
        try change(.syncDirectory, path) { () throws(IOError) in
            if !machine.lies { try disk.syncDirectory(path) }
        }
    }

    func list(_ directory: String) throws(IOError) -> [String] {
        try check(.list, directory)
        return try disk.list(directory)
    }

    func exists(_ path: String) -> Bool { disk.exists(path) }

    func lock(_ path: String) throws(IOError) -> any FileLock {
        try check(.lock, path)
        return try disk.lock(path)
    }

    /// Marks all pages as clean, though only some reached the disk, as the kernel does after a
    /// failed sync.
    func loseUnsynced(_ path: String) {
        guard let node = disk.names[path] else { return }
        for change in node.pending where machine.part(of: 1) == 1 {
            SimulatedNode.apply(change, to: &node.durable)
        }
        node.pending = []
    }
}

/// An open file of a ``MachineFileSystem``.
final class MachineFile: File {
    private let file: any File
    private let system: MachineFileSystem
    var path: String { file.path }

    init(_ file: any File, _ system: MachineFileSystem) {
        self.file = file
        self.system = system
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int {
        try system.check(.read, path)
        return try file.read(into: buffer, at: offset)
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) {
        let count = system.machine.isArmed ? system.machine.part(of: bytes.count) : 0
        try system.change(
            .write, path,
            part: {
                try? file.write(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset)
            },
            { () throws(IOError) in try file.write(bytes, at: offset) })
    }

    func sync() throws(IOError) {
        try system.change(
            .sync, path, failing: { [system, path] in system.loseUnsynced(path) },
            { () throws(IOError) in if !system.machine.lies { try file.sync() } })
    }

    func reserve(_ bytes: UInt64) throws(IOError) {
        try system.check(.write, path)
        try file.reserve(bytes)
    }

    func truncate(to size: UInt64) throws(IOError) {
        try system.change(.truncate, path) { () throws(IOError) in try file.truncate(to: size) }
    }

    func size() throws(IOError) -> UInt64 {
        try system.check(.inspect, path)
        return try file.size()
    }

    func renamed(to path: String) { file.renamed(to: path) }

    func close() { file.close() }
}

import TestSupport

@testable import TandemIO
@testable import TandemStore

/// The simulated computer: its disk and clock, whether the daemon's process lives, and what will befall it.
final class Machine {
    private(set) var disk = SimulatedFileSystem()
    /// The journal's directory on it.
    let journal: String
    let clock = ManualClock(
        monotonicNanoseconds: 1_000_000_000, wallMicroseconds: 1_700_000_000_000_000)
    /// Rises with every process; what an earlier one opened is dead.
    private(set) var process = 0
    /// True from the moment of death until the next process: nothing has any effect.
    private(set) var isDead = true
    /// True after the process met an error that was made for it.
    private(set) var hasFailed = false
    /// Breaks the disk on purpose: a sync does nothing and says that it did.
    var lies = false
    private var faults = Faults()
    private var chance = Chance(seed: 0)

    /// What will befall the process; every number counts down.
    struct Faults {
        /// The operation that changes the disk in or around which the process dies.
        var deathAtOperation: Int?
        /// The operation that fails with an error.
        var errorAtOperation: Int?
        /// The commit of the store before or after which it dies.
        var deathAtCommit: Int?
        var isAfterCommit = false
        /// The end of a round at which it dies, with only some of what it sent underway.
        var deathAtRoundEnd: Int?

        var isEmpty: Bool {
            deathAtOperation == nil && errorAtOperation == nil && deathAtCommit == nil
                && deathAtRoundEnd == nil
        }
    }

    /// What happens at an operation.
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

    /// The process is gone; what the kernel holds for the disk stays, the locks don't.
    func endProcess() {
        isDead = true
        faults = Faults()
        disk.forgetLocks()
    }

    /// The power is gone as well.
    func cutPower(seed: UInt64, _ severity: CrashSeverity) {
        endProcess()
        disk.crash(seed: seed, severity: severity)
    }

    /// Puts another disk in.
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

    /// Decides over an operation that changes the disk.
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

    /// Decides over a commit of the store.
    func commit(_ moment: Store.CommitMoment) throws(StoreError) {
        let gone = StoreError(.failed, "the process is dead")
        if isDead { throw gone }
        guard moment == (faults.isAfterCommit ? .after : .before) else { return }
        guard Self.step(&faults.deathAtCommit) else { return }
        isDead = true
        throw gone
    }

    /// Decides over the end of a round; true when the process dies there.
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

/// The disk as one process sees it, with the machine's faults in its way.
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

    /// Does something to the disk, or what the fault leaves of it.
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

    /// After a failed sync the kernel takes pages for clean of which the disk has only some.
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

/// The unsynced changes that a simulated crash keeps.
public enum CrashSeverity: Hashable, Sendable, CaseIterable {
    /// No unsynced changes.
    case losesAll
    /// All unsynced changes, as if only the process had died.
    case keepsAll
    /// Random sectors of the unsynced writes, in any order.
    case tears
}

extension SimulatedFileSystem {
    /// Simulates a power cut: unsynced bytes and names survive or vanish at random, and open files
    /// and locks become invalid.
    ///
    /// With the same state and seed, the same bytes always survive.
    public func crash(seed: UInt64, severity: CrashSeverity = .tears) {
        var generator = SeededGenerator(seed: seed)
        generation += 1
        forgetLocks()
        faults = SimulatedFaults()
        crashNames(severity, &generator)
        // Sorted by name, so that the result depends on the seed alone.
        for (_, node) in durableNames.sorted(by: { $0.key < $1.key }) {
            crashContent(of: node, severity, &generator)
        }
        names = durableNames
    }

    /// Returns the state after the first `count` of ``operations``, as a separate file system.
    ///
    /// The copy has the durable and the volatile state; call ``crash(seed:severity:)`` on it to
    /// simulate a power cut.
    public func image(after count: Int) -> SimulatedFileSystem {
        let copy = SimulatedFileSystem()
        copy.recordsOperations = false
        for operation in operations.prefix(count) { copy.replay(operation) }
        copy.recordsOperations = true
        return copy
    }

    /// Returns a copy of the durable and the volatile state, without open files or locks.
    ///
    /// Cheap: contents are shared until one of the copies is written.
    public func copy() -> SimulatedFileSystem {
        var nodes: [ObjectIdentifier: SimulatedNode] = [:]
        func copied(_ node: SimulatedNode) -> SimulatedNode {
            if let known = nodes[ObjectIdentifier(node)] { return known }
            let copy = SimulatedNode()
            (copy.content, copy.durable, copy.pending) = (node.content, node.durable, node.pending)
            nodes[ObjectIdentifier(node)] = copy
            return copy
        }
        let disk = SimulatedFileSystem()
        disk.names = names.mapValues(copied)
        disk.durableNames = durableNames.mapValues(copied)
        disk.pendingNames = pendingNames.map { entry in
            guard case .put(let path, let node) = entry.change else { return entry }
            return (entry.directory, .put(path, copied(node)))
        }
        disk.directories = directories
        disk.capacityBytes = capacityBytes
        return disk
    }

    /// Returns a file's visible content, for tests; nil if the file does not exist.
    public func bytes(of path: String) -> [UInt8]? { names[path]?.content }

    /// Creates or replaces a file, durable at once, for tests that damage or forge files.
    public func install(_ bytes: [UInt8], at path: String) {
        let node = SimulatedNode()
        node.content = bytes
        node.durable = bytes
        names[path] = node
        durableNames[path] = node
        directories.insert(directoryName(of: path))
    }

    private func crashNames(_ severity: CrashSeverity, _ generator: inout SeededGenerator) {
        var kept: [String: Int] = [:]
        for directory in Set(pendingNames.map(\.directory)).sorted() {
            let count = pendingNames.filter { $0.directory == directory }.count
            kept[directory] =
                switch severity {
                case .losesAll: 0
                case .keepsAll: count
                case .tears: Int.random(in: 0...count, using: &generator)
                }
        }
        for entry in pendingNames {
            guard let left = kept[entry.directory], left > 0 else { continue }
            kept[entry.directory] = left - 1
            Self.apply(entry.change, to: &durableNames)
        }
        pendingNames = []
    }

    private func crashContent(
        of node: SimulatedNode, _ severity: CrashSeverity, _ generator: inout SeededGenerator
    ) {
        // The odds vary: in some crashes most sectors survive, and in others few do.
        let odds = Int.random(in: 1...9, using: &generator)
        for change in node.pending {
            switch (severity, change) {
            case (.losesAll, _): break
            case (.keepsAll, _): SimulatedNode.apply(change, to: &node.durable)
            case (.tears, .truncate):
                if Bool.random(using: &generator) {
                    SimulatedNode.apply(change, to: &node.durable)
                }
            case (.tears, .write(let offset, let bytes)):
                tear(node, offset, bytes, odds, &generator)
            }
        }
        node.pending = []
        node.content = node.durable
    }

    private func tear(
        _ node: SimulatedNode, _ offset: Int, _ bytes: [UInt8], _ odds: Int,
        _ generator: inout SeededGenerator
    ) {
        var start = offset
        while start < offset + bytes.count {
            let sectorEnd = (start / Self.sectorBytes + 1) * Self.sectorBytes
            let end = min(sectorEnd, offset + bytes.count)
            if Int.random(in: 0..<10, using: &generator) < odds {
                let piece = Array(bytes[start - offset..<end - offset])
                SimulatedNode.apply(.write(offset: start, bytes: piece), to: &node.durable)
            }
            start = end
        }
    }

    /// Repeats an operation of another file system in this one, for tests.
    public func replay(_ operation: Operation) {
        switch operation {
        case .create(let path): _ = try? open(path, .createNew)
        case .write(let path, let offset, let bytes):
            names[path]?.apply(.write(offset: offset, bytes: bytes))
        case .truncate(let path, let size): names[path]?.apply(.truncate(size))
        case .sync(let path): names[path]?.flush()
        case .failedSync(let path): names[path]?.loseUnsynced()
        case .rename(let old, let new): try? rename(old, to: new)
        case .remove(let path): try? remove(path)
        case .createDirectory(let path): try? createDirectory(path, mode: 0o700)
        case .syncDirectory(let path): try? syncDirectory(path)
        }
    }
}

/// A small random number generator whose sequence is determined by its seed (SplitMix64).
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Creates a generator with a seed.
    public init(seed: UInt64) { state = seed }

    /// Returns the next number of the sequence.
    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

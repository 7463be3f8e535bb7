import Glibc

/// A file's visible content, its durable content, and its unsynced changes.
final class SimulatedNode {
    enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)
    }

    var content: [UInt8] = []
    var durable: [UInt8] = []
    var pending: [Change] = []

    func apply(_ change: Change) {
        Self.apply(change, to: &content)
        pending.append(change)
    }

    func flush() {
        for change in pending { Self.apply(change, to: &durable) }
        pending = []
    }

    /// Discards the unsynced changes: they stay visible, but no later sync makes them durable.
    func loseUnsynced() { pending = [] }

    static func apply(_ change: Change, to content: inout [UInt8]) {
        switch change {
        case .truncate(let size): resize(&content, to: size)
        case .write(let offset, let bytes):
            if content.count < offset + bytes.count { resize(&content, to: offset + bytes.count) }
            content.withUnsafeMutableBytes { target in
                bytes.withUnsafeBytes { source in
                    UnsafeMutableRawBufferPointer(rebasing: target[offset...])
                        .copyMemory(from: source)
                }
            }
        }
    }

    private static func resize(_ content: inout [UInt8], to size: Int) {
        if content.count > size {
            content.removeLast(content.count - size)
        } else {
            // Appending an array is a single copy; appending any other sequence adds the zeros one
            // by one.
            content += [UInt8](repeating: 0, count: size - content.count)
        }
    }
}

/// An open file of the simulated file system.
final class SimulatedFile: File {
    private(set) var path: String
    private let node: SimulatedNode
    private let owner: SimulatedFileSystem
    private let writable: Bool
    private let generation: Int
    private var isOpen = true

    init(node: SimulatedNode, path: String, owner: SimulatedFileSystem, writable: Bool) {
        self.node = node
        self.path = path
        self.owner = owner
        self.writable = writable
        generation = owner.generation
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int {
        try mustBeOpen(.read)
        let start = Int(clamping: offset)
        guard start < node.content.count else { return 0 }
        let count = min(buffer.count, node.content.count - start)
        buffer.copyBytes(from: node.content[start..<start + count])
        return count
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) {
        try mustBeOpen(.write)
        guard writable else { throw IOError(.write, path, errno: EBADF) }
        if let number = owner.faults.nextWrite() {
            put(bytes.prefix(owner.faults.bytesKept), at: offset)
            throw IOError(.write, path, errno: number)
        }
        if let capacity = owner.capacityBytes {
            let end = Int(offset) + bytes.count
            let room = capacity - owner.usedBytes
            let missing = end - node.content.count - room
            if missing > 0 {
                put(bytes.dropLast(min(missing, bytes.count)), at: offset)
                throw IOError(.write, path, errno: ENOSPC)
            }
        }
        put(bytes[...], at: offset)
    }

    func sync() throws(IOError) {
        try mustBeOpen(.sync)
        if let number = owner.faults.nextSync() {
            owner.record(.failedSync(path))
            node.loseUnsynced()
            throw IOError(.sync, path, errno: number)
        }
        if owner.faults.ignoresFileSyncs { return }
        owner.record(.sync(path))
        node.flush()
    }

    func reserve(_ bytes: UInt64) throws(IOError) {
        try mustBeOpen(.write)
        guard let capacity = owner.capacityBytes else { return }
        guard owner.usedBytes - node.content.count + Int(clamping: bytes) <= capacity else {
            throw IOError(.write, path, errno: ENOSPC)
        }
    }

    func truncate(to size: UInt64) throws(IOError) {
        try mustBeOpen(.truncate)
        owner.record(.truncate(path, size: Int(size)))
        node.apply(.truncate(Int(size)))
        try sync()
    }

    func renamed(to path: String) { self.path = path }

    func size() throws(IOError) -> UInt64 {
        try mustBeOpen(.inspect)
        return UInt64(node.content.count)
    }

    func close() { isOpen = false }

    private func put(_ bytes: Slice<UnsafeRawBufferPointer>, at offset: UInt64) {
        guard !bytes.isEmpty else { return }
        let copy = Array(bytes)
        owner.record(.write(path, offset: Int(offset), bytes: copy))
        node.apply(.write(offset: Int(offset), bytes: copy))
    }

    private func mustBeOpen(_ operation: IOError.Operation) throws(IOError) {
        guard isOpen, generation == owner.generation else {
            throw IOError(operation, path, errno: EBADF)
        }
    }
}

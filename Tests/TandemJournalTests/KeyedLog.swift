import TandemIO

@testable import TandemJournal

/// A journal whose payloads contain their index keys, and the same payloads in a plain list.
struct KeyedLog {
    let disk: SimulatedFileSystem
    let journal: Journal
    /// The payloads by position, from 1 on.
    private(set) var payloads: [PayloadKeys?] = []

    init(_ disk: SimulatedFileSystem = SimulatedFileSystem(), segmentBytes: Int = 8_192) throws {
        self.disk = disk
        journal = try openJournal(disk, KeyedLog.options(segmentBytes)).journal
    }

    static func options(_ segmentBytes: Int = 8_192) -> JournalOptions {
        var options = smallOptions(segmentBytes)
        options.payloadReading = KeyedLog.keys
        return options
    }

    /// Encodes groups, members and stamp after their counts; a payload that begins with 255 is
    /// unreadable.
    static func payload(_ keys: PayloadKeys?, padding: Int = 0) -> [UInt8] {
        guard let keys else { return [255] + [UInt8](repeating: 7, count: padding) }
        return [UInt8(keys.groups.count), UInt8(keys.members.count)]
            + keys.groups.map { UInt8($0) } + keys.members.flatMap { bytes($0) }
            + bytes(UInt64(bitPattern: keys.stamp)) + [UInt8](repeating: 7, count: padding)
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }

    static let keys: PayloadReading = { payload in
        guard payload.count >= 10, payload[0] < 255 else { return nil }
        let (groups, members) = (Int(payload[0]), Int(payload[1]))
        func number(_ index: Int) -> UInt64 {
            let start = 2 + groups + 8 * index
            return payload[start..<start + 8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }
        return PayloadKeys(
            groups: payload[2..<2 + groups].map { UInt16($0) },
            members: (0..<members).map(number), stamp: Int64(bitPattern: number(members)))
    }

    /// Appends a batch.
    mutating func append(_ batch: [PayloadKeys?], padding: Int = 0) throws {
        var builder = BatchBuilder()
        for keys in batch { builder.append(KeyedLog.payload(keys, padding: padding)) }
        try journal.append(expected: journal.bounds.last, batch: &builder)
        payloads += batch
    }

    /// Appends batches with keys from small ranges until the journal has this many segments.
    mutating func fill(segments: Int, _ random: inout SeededGenerator) throws {
        while journal.segments.count < segments {
            let count = Int.random(in: 1...4, using: &random)
            try append(
                (0..<count).map { _ in KeyedLog.random(payloads.count, &random) },
                padding: Int.random(in: 0...200, using: &random))
        }
    }

    private static func random(_ position: Int, _ random: inout SeededGenerator) -> PayloadKeys? {
        if Int.random(in: 0..<60, using: &random) == 0 { return nil }
        // Runs of groups, so that both dense and sparse lists occur.
        let groups = Set([UInt16(position / 40 % 5 + 1), UInt16.random(in: 0...9, using: &random)])
        let members = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            UInt64.random(in: 1...UInt64(40 + position), using: &random)
        }
        return PayloadKeys(
            groups: groups.sorted(), members: members,
            stamp: Int64(position) * 10 + Int64.random(in: 0...60, using: &random))
    }

    /// Whether a query has to find a payload; an unreadable payload must always be found.
    static func meets(_ keys: PayloadKeys?, _ query: IndexQuery) -> Bool {
        guard let keys else { return true }
        let its = Set(keys.groups.map(IndexKey.group) + keys.members.map(IndexKey.member))
        if query.always.contains(where: its.contains) { return true }
        guard query.stamps.contains(keys.stamp) else { return false }
        return query.keys.map { $0.contains(where: its.contains) } ?? true
    }

    /// Returns the positions that a query must find, from a position on.
    func wanted(_ query: IndexQuery, from position: UInt64 = 1) -> [UInt64] {
        (position..<UInt64(payloads.count) + 1).filter {
            KeyedLog.meets(payloads[Int($0) - 1], query)
        }
    }

    /// Returns a random query.
    func query(_ random: inout SeededGenerator) -> IndexQuery {
        let low = Int64.random(in: 0...Int64(payloads.count * 10), using: &random)
        let stamps = low...low + Int64.random(in: 0...3_000, using: &random)
        let members = (0..<Int.random(in: 1...3, using: &random)).map { _ in
            IndexKey.member(.random(in: 1...UInt64(payloads.count), using: &random))
        }
        let group = IndexKey.group(.random(in: 0...12, using: &random))
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return IndexQuery(keys: members)
        case 1: return IndexQuery(keys: members, always: [group])
        case 2: return IndexQuery(keys: [group])
        case 3: return IndexQuery(keys: [group], stamps: stamps)
        case 4: return IndexQuery(keys: nil, always: [group], stamps: stamps)
        default: return IndexQuery(keys: members + [group], stamps: stamps)
        }
    }
}

/// Returns the matches of a query in a directory: the transactions that the indexes do not rule out
/// are read and evaluated.
func found(
    _ query: IndexQuery, in disk: any FileSystem, from position: UInt64 = 1,
    through top: UInt64 = .max, usesIndexes: Bool = true
) throws -> (positions: [UInt64], read: Int, damaged: [UInt64]) {
    let indexes = SegmentIndexes(directory: directory, fileSystem: disk)
    let walk = usesIndexes ? indexes.walk(query) : nil
    let reader = JournalReader(
        directory: directory, fileSystem: disk, from: position,
        indexes: usesIndexes ? indexes : nil)
    var (positions, read) = ([UInt64](), 0)
    while reader.position <= top {
        if let next = walk?.next(from: reader.position), next > reader.position {
            reader.pass(to: next)
            continue
        }
        guard let item = try reader.next() else { break }
        guard case .entry(let entry) = item else { continue }
        read += 1
        if KeyedLog.meets(KeyedLog.keys(entry.payload), query) {
            positions.append(entry.position)
        }
    }
    return (positions, read, indexes.damaged)
}

/// A file system that counts the bytes read, by the suffix of the file's name.
final class CountingFileSystem: FileSystem {
    private let base: any FileSystem
    private(set) var bytesRead: [String: Int] = [:]
    private(set) var lists = 0
    private(set) var opens = 0

    init(_ base: any FileSystem) { self.base = base }

    func bytes(of suffix: String) -> Int {
        bytesRead.reduce(0) { $1.key.hasSuffix(suffix) ? $0 + $1.value : $0 }
    }

    func countRead(_ path: String, _ count: Int) { bytesRead[path, default: 0] += count }

    func open(_ path: String, _ mode: OpenMode) throws(IOError) -> any File {
        opens += 1
        return CountingFile(try base.open(path, mode), self)
    }
    func rename(_ old: String, to new: String) throws(IOError) { try base.rename(old, to: new) }
    func remove(_ path: String) throws(IOError) { try base.remove(path) }
    func createDirectory(_ path: String, mode: UInt32) throws(IOError) {
        try base.createDirectory(path, mode: mode)
    }
    func syncDirectory(_ path: String) throws(IOError) { try base.syncDirectory(path) }
    func list(_ directory: String) throws(IOError) -> [String] {
        lists += 1
        return try base.list(directory)
    }
    func exists(_ path: String) -> Bool { base.exists(path) }
    func lock(_ path: String) throws(IOError) -> any FileLock { try base.lock(path) }
}

private final class CountingFile: File {
    private let base: any File
    private let system: CountingFileSystem
    var path: String { base.path }

    init(_ base: any File, _ system: CountingFileSystem) {
        self.base = base
        self.system = system
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(IOError) -> Int {
        let count = try base.read(into: buffer, at: offset)
        system.countRead(path, count)
        return count
    }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(IOError) {
        try base.write(bytes, at: offset)
    }
    func sync() throws(IOError) { try base.sync() }
    func reserve(_ bytes: UInt64) throws(IOError) { try base.reserve(bytes) }
    func truncate(to size: UInt64) throws(IOError) { try base.truncate(to: size) }
    func size() throws(IOError) -> UInt64 { try base.size() }
    func renamed(to path: String) { base.renamed(to: path) }
    func close() { base.close() }
}

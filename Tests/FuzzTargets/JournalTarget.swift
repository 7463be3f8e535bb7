import TandemIO
import TandemJournal

extension FuzzTarget {
    /// A journal with changed files: opening it fails with the location of the damage, or yields
    /// the written entries.
    ///
    /// The first byte selects between a segment made of the input and a real journal that the input
    /// damages; see ``ForgedSegment`` and ``DamagedJournal``.
    static let journal = FuzzTarget("journal", seeds: journalSeeds) { input in
        var input = FuzzInput(input)
        let choices = input.byte()
        let disk = SimulatedFileSystem()
        disk.recordsOperations = false
        if choices & 1 == 0 {
            var damaged = try DamagedJournal(disk, &input)
            damaged.damage(&input)
            try JournalProperties(disk, choices: choices, damaged).check()
        } else {
            ForgedSegment.place(on: disk, &input)
            try JournalProperties(disk, choices: choices, nil).check()
        }
    }

    @Sendable private static func journalSeeds() -> [[UInt8]] {
        var random = SeededGenerator(seed: 4)
        var seeds: [[UInt8]] = [[1] + ForgedSegment.example, [1]]
        for operation in UInt8(0)..<UInt8(DamagedJournal.operations) {
            for batches in [UInt8(1), 5, 11] {
                let sizes = (0..<batches).map { _ in UInt8.random(in: 0...255, using: &random) }
                let place = (0..<6).map { _ in UInt8.random(in: 0...255, using: &random) }
                seeds.append([batches << 1, batches] + sizes + [operation] + place)
            }
        }
        seeds.append([0, 3, 10, 20, 30])
        return seeds
    }
}

/// A journal of some batches, and the damage done to its files.
struct DamagedJournal {
    static let operations = 9

    let disk: SimulatedFileSystem
    /// The appended payloads, beginning at position 1.
    private(set) var payloads: [[UInt8]] = []
    /// The offsets of the batches, with the paths of their segments.
    private var batches: [(path: String, offset: Int)] = []
    /// Whether bytes were changed in a way that no checksum can detect.
    private(set) var isForged = false
    private(set) var isChanged = false

    /// Appends batches; the input determines their number and sizes.
    init(_ disk: SimulatedFileSystem, _ input: inout FuzzInput) throws {
        self.disk = disk
        let (journal, _) = try Journal.open(
            directory: JournalPlaces.directory, fileSystem: disk, options: JournalPlaces.options,
            identityIfNew: JournalPlaces.identity, appliedPosition: nil)
        for _ in 0..<(1 + input.choice(12)) {
            let size = Int(input.byte())
            var batch = BatchBuilder()
            for part in 0...(size % 3) {
                let payload = [UInt8](repeating: UInt8(payloads.count), count: size * 4 + part)
                payloads.append(payload)
                batch.append(payload)
            }
            _ = try journal.append(expected: journal.bounds.last, batch: &batch)
        }
        try journal.close()
        for path in try JournalPlaces.segments(disk) { recordBatches(of: path) }
    }

    private mutating func recordBatches(of path: String) {
        let bytes = disk.bytes(of: path) ?? []
        var offset = JournalPlaces.headerBytes
        while let length = JournalPlaces.frameBytes(bytes, offset) {
            batches.append((path, offset))
            offset += length
        }
    }

    /// Damages the files as the rest of the input determines.
    mutating func damage(_ input: inout FuzzInput) {
        while !input.isEmpty {
            let operation = input.choice(Self.operations)
            guard let batch = batches.isEmpty ? nil : batches[input.choice(batches.count)] else {
                return
            }
            isChanged = true
            carryOut(operation, batch, &input)
        }
    }

    private mutating func carryOut(
        _ operation: Int, _ batch: (path: String, offset: Int), _ input: inout FuzzInput
    ) {
        guard var bytes = disk.bytes(of: batch.path), !bytes.isEmpty else { return }
        let place = (batch.offset + input.word()) % max(1, bytes.count)
        switch operation {
        case 0: bytes[place] ^= max(1, input.byte())
        case 1: bytes[place] = input.byte()
        case 2: zero(&bytes, from: place, count: input.word())
        case 3: bytes = Array(bytes.prefix(place))
        case 4: copy(&bytes, to: batch.offset, from: place, count: input.word())
        case 5: seal(&bytes, batch.offset, field: input.byte(), value: input.byte())
        case 6: try? disk.remove(batch.path)
        case 7: disk.install([], at: JournalPlaces.directory + "/relaxed")
        default: sealHeader(&bytes, field: input.byte(), value: input.byte())
        }
        if operation != 6 { disk.install(bytes, at: batch.path) }
    }

    private func zero(_ bytes: inout [UInt8], from place: Int, count: Int) {
        for index in place..<min(bytes.count, place + count) { bytes[index] = 0 }
    }

    private mutating func copy(_ bytes: inout [UInt8], to place: Int, from: Int, count: Int) {
        for index in 0..<count where max(place, from) + index < bytes.count {
            bytes[place + index] = bytes[from + index]
        }
    }

    /// Changes a byte of a batch, and corrects its checksum.
    private mutating func seal(_ bytes: inout [UInt8], _ offset: Int, field: UInt8, value: UInt8) {
        let place = offset + 8 + Int(field)
        guard place < bytes.count else { return }
        bytes[place] = value
        isForged = true
        JournalPlaces.sealBatch(&bytes, at: offset)
    }

    private mutating func sealHeader(_ bytes: inout [UInt8], field: UInt8, value: UInt8) {
        guard bytes.count >= JournalPlaces.headerBytes else { return }
        bytes[12 + Int(field) % 60] = value
        isForged = true
        JournalPlaces.sealHeader(&bytes)
    }
}

/// A single segment made of the input, with correct checksums.
enum ForgedSegment {
    /// The fields of a header, and two batches.
    static let example: [UInt8] = {
        var bytes: [UInt8] =
            [1, 0, 0, 0] + [UInt8](repeating: 7, count: 16) + [1, 0, 0, 0, 0, 0, 0, 0]
        bytes += [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9]
        bytes += [8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        return bytes + [0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 2, 3, 4]
    }()

    /// Creates a segment: 48 bytes become the fields of the header, and the rest becomes batches.
    ///
    /// Every batch begins where the previous one ends, as far as the lengths allow.
    static func place(on disk: SimulatedFileSystem, _ input: inout FuzzInput) {
        var bytes = Array("TANDEMJ1".utf8) + [0, 0, 0, 0] + input.consume(48)
        bytes += [UInt8](repeating: 0, count: JournalPlaces.headerBytes - bytes.count)
        JournalPlaces.sealHeader(&bytes)
        while !input.isEmpty {
            let offset = bytes.count
            bytes += Array("BTCH".utf8) + [0, 0, 0, 0] + input.consume(32)
            bytes += [UInt8](repeating: 0, count: max(0, offset + 40 - bytes.count))
            let length = Int(bytes[offset + 8]) | Int(bytes[offset + 9]) << 8
            bytes += input.consume(length)
            bytes += [UInt8](repeating: 0, count: (8 - bytes.count % 8) % 8)
            JournalPlaces.sealBatch(&bytes, at: offset)
        }
        bytes += [UInt8](repeating: 0, count: 64)
        try? disk.createDirectory(JournalPlaces.directory, mode: 0o700)
        disk.install(bytes, at: JournalPlaces.directory + "/0000000000000001.journal")
    }
}

@testable import TandemIO

/// An independent reader of the journal on the simulated disk: the transactions that would survive
/// a power cut.
///
/// It implements the format page without any code of TandemJournal, and reads complete batches as
/// far as they go.
struct DurableLog {
    private let machine: Machine
    /// Whether written but unsynced bytes count, as relaxed durability promises.
    private let takesWritten: Bool
    private var segment: UInt64?
    private var offset = DurableLog.headerBytes
    /// The position of the next transaction.
    private var next: UInt64 = 0

    private static let headerBytes = 4_096
    private static let suffix = ".journal"

    init(_ machine: Machine, takesWritten: Bool) {
        self.machine = machine
        self.takesWritten = takesWritten
    }

    /// The last position found; 0 before the first.
    var last: UInt64 { next == 0 ? 0 : next - 1 }

    /// Restarts at the first segment.
    mutating func restart() {
        segment = nil
        offset = Self.headerBytes
        next = 0
    }

    /// Returns the transactions after those that were returned before.
    mutating func advance() -> [(position: UInt64, bytes: [UInt8])] {
        if segment == nil {
            guard let first = segments().first else { return [] }
            segment = first
            next = first
        }
        var found: [(position: UInt64, bytes: [UInt8])] = []
        while let segment {
            while let bytes = content(segment), let frame = frame(bytes) { found += frame }
            guard next > segment, content(next) != nil else { break }
            self.segment = next
            offset = Self.headerBytes
        }
        return found
    }

    /// Returns the transactions of the complete batch at `offset`; nil if there is none.
    private mutating func frame(_ bytes: [UInt8]) -> [(position: UInt64, bytes: [UInt8])]? {
        guard bytes.count >= Self.headerBytes, offset + 40 <= bytes.count,
            Self.number(bytes, offset, 4) == 0x4843_5442
        else { return nil }
        let length = Int(Self.number(bytes, offset + 8, 4))
        let count = Self.number(bytes, offset + 12, 4)
        let end = offset + (40 + length + 7) / 8 * 8
        guard end <= bytes.count, Self.number(bytes, offset + 24, 8) == next else { return nil }
        let salt = UInt32(Self.number(bytes, 56, 4))
        guard
            Checksum.crc32c(bytes[(offset + 8)..<end], salt)
                == UInt32(Self.number(bytes, offset + 4, 4))
        else { return nil }
        var found: [(position: UInt64, bytes: [UInt8])] = []
        var at = offset + 40
        for _ in 0..<count {
            let size = Int(Self.number(bytes, at, 4))
            found.append((next, Array(bytes[(at + 4)..<(at + 4 + size)])))
            at += 4 + size
            next += 1
        }
        offset = end
        return found
    }

    private var names: [String: SimulatedNode] {
        takesWritten ? machine.disk.names : machine.disk.durableNames
    }

    private func content(_ first: UInt64) -> [UInt8]? {
        let digits = String(first, radix: 16)
        let name = String(repeating: "0", count: 16 - digits.utf8.count) + digits
        let node = names[machine.journal + "/" + name + Self.suffix]
        return takesWritten ? node?.content : node?.durable
    }

    /// Returns the first positions of the segments.
    func segments() -> [UInt64] {
        let prefix = machine.journal + "/"
        return names.keys.compactMap { path in
            guard path.hasPrefix(prefix), path.hasSuffix(Self.suffix) else { return nil }
            return UInt64(path.dropFirst(prefix.count).dropLast(Self.suffix.count), radix: 16)
        }.sorted()
    }

    private static func number(_ bytes: [UInt8], _ offset: Int, _ width: Int) -> UInt64 {
        (0..<width).reduce(0) { $0 | UInt64(bytes[offset + $1]) << (8 * UInt64($1)) }
    }
}

/// CRC-32C, computed byte by byte.
enum Checksum {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { crc, _ in
            crc & 1 == 1 ? crc >> 1 ^ 0x82f6_3b78 : crc >> 1
        }
    }

    static func crc32c(_ bytes: ArraySlice<UInt8>, _ salt: UInt32 = 0) -> UInt32 {
        table.withUnsafeBufferPointer { table in
            bytes.withUnsafeBufferPointer { bytes in
                var crc = ~salt
                for byte in bytes {
                    crc = table[Int(UInt8(truncatingIfNeeded: crc) ^ byte)] ^ crc >> 8
                }
                return ~crc
            }
        }
    }
}

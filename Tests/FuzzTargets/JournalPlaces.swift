import TandemIO
import TandemJournal

/// The layout of a journal's directory and files, according to the page `SegmentFormat`.
enum JournalPlaces {
    static let directory = "/journal"
    static let headerBytes = 4_096
    static let identity = LogIdentity(high: 0x1122_3344_5566_7788, low: 0x99AA_BBCC_DDEE_FF00)

    /// Options with small segments and a fixed salt.
    static let options: JournalOptions = {
        var options = JournalOptions()
        options.segmentBytes = 8_192
        options.makeSalt = { 0x5EED_5EED }
        return options
    }()

    static func segments(_ disk: SimulatedFileSystem) throws -> [String] {
        try disk.list(directory).filter { $0.hasSuffix(".journal") }.sorted()
            .map { directory + "/" + $0 }
    }

    /// Returns the size of the batch at an offset according to its header; nil if no batch begins
    /// there.
    static func frameBytes(_ bytes: [UInt8], _ offset: Int) -> Int? {
        guard offset + 40 <= bytes.count, Array(bytes[offset..<(offset + 4)]) == Array("BTCH".utf8)
        else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(bytes[offset + 8 + $1]) << (8 * $1) }
        let frame = (40 + length + 7) & ~7
        return offset + frame <= bytes.count ? frame : nil
    }

    /// Corrects a batch's checksum.
    static func sealBatch(_ bytes: inout [UInt8], at offset: Int) {
        guard bytes.count >= headerBytes, let count = frameBytes(bytes, offset) else { return }
        let salt = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[56 + $1]) << UInt32(8 * $1) }
        store(
            CRC32C.checksum(bytes[(offset + 8)..<(offset + count)], salt: salt), &bytes, offset + 4)
    }

    /// Corrects a segment header's checksum.
    static func sealHeader(_ bytes: inout [UInt8]) {
        store(CRC32C.checksum(bytes[12..<headerBytes], salt: 0), &bytes, 8)
    }

    private static func store(_ value: UInt32, _ bytes: inout [UInt8], _ offset: Int) {
        for index in 0..<4 {
            bytes[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(8 * index))
        }
    }
}

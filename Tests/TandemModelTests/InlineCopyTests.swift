import Testing

@testable import TandemModel

/// Inline copies of bytes or of their complements, which must not touch other bytes.
@Suite struct InlineCopyTests {
    @Test(arguments: [0, UInt64.max]) func `any number of bytes is copied`(mask: UInt64) {
        for count in 0...200 {
            let source = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 5) }
            var room = [UInt8](repeating: 0xaa, count: count + 32)
            room.withUnsafeMutableBytes { room in
                source.withUnsafeBytes { source in
                    guard let from = source.baseAddress, let to = room.baseAddress else { return }
                    (to + 16).copyInline(from: from, count: count, flipping: mask)
                }
            }
            let wanted = source.map { mask == 0 ? $0 : ~$0 }
            let around = [UInt8](repeating: 0xaa, count: 16)
            #expect(room == around + wanted + around, "\(count) bytes")
        }
    }
}

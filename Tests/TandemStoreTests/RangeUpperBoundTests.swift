import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Comparisons of eight bytes of a key at once, compared with single bytes.
@Suite(.ownThread) struct RangeUpperBoundTests {
    private static func bytes(_ count: Int, _ random: inout SplitMix64) -> [UInt8] {
        (0..<count).map { _ in [0, 0, 0xff, 0xff, 7].randomElement(using: &random) ?? 0 }
    }

    @Test func `a key is before an end or not`() {
        var random = SplitMix64(seed: seed)
        for _ in 0..<4_000 {
            let end = Self.bytes(.random(in: 0...12, using: &random), &random)
            var key = Self.bytes(.random(in: 0...14, using: &random), &random)
            // Key and end usually have a common prefix.
            let shared = Int.random(in: 0...min(end.count, key.count), using: &random)
            key.replaceSubrange(..<shared, with: end[..<shared])
            let isAbove = KeyRange(lower: [], upper: end).withEnd { end in
                key.withUnsafeBytes { end.isAbove($0) }
            }
            #expect(
                isAbove == key.lexicographicallyPrecedes(end), "\(key) \(end) seed \(seed)")
        }
        #expect(
            KeyRange(lower: [], upper: nil).withEnd { end in
                [1].withUnsafeBytes { end.isAbove($0) }
            })
    }

    /// Returns the end of a text, found byte by byte.
    private static func end(of key: [UInt8], _ start: Int) -> Int? {
        var at = start
        while at + 1 < key.count {
            if key[at] != 0 {
                at += 1
            } else if key[at + 1] == 0 {
                return at + 2
            } else {
                at += 2
            }
        }
        return nil
    }

    @Test func `a text in a key ends at its terminator`() {
        var (random, ended) = (SplitMix64(seed: seed &+ 1), 0)
        for _ in 0..<4_000 {
            let key = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                [0, 1, 0x80, 0xff, 9, 9].randomElement(using: &random) ?? 0 as UInt8
            }
            let start = Int.random(in: 0...key.count, using: &random)
            let end = key.withUnsafeBytes { IndexComponents.endOfText($0, start) }
            // The object's number follows a component, so a component that ends later is truncated.
            let wanted = Self.end(of: key, start).flatMap { $0 <= key.count - 8 ? $0 : nil }
            #expect(
                end.flatMap { $0 <= key.count - 8 ? $0 : nil } == wanted,
                "\(key) from \(start) seed \(seed)")
            ended += wanted == nil ? 0 : 1
        }
        #expect(ended > 200, "only \(ended)")
    }
}

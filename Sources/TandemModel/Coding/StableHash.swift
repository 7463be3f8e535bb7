/// A 128-bit hash that never changes: it is the same in every process and on every machine.
///
/// The algorithm is SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, reference
/// implementation's `siphash.c` with `outlen` 16) under a fixed key. The hash identifies unique
/// keys, models and saves. It does not protect against deliberate collisions, so code that finds
/// something by its hash has to verify it.
package struct StableHash: Hashable, Sendable, CustomStringConvertible {
    /// The first eight bytes of the digest, little-endian.
    package let first: UInt64
    /// The last eight bytes of the digest, little-endian.
    package let second: UInt64

    /// Creates a hash from its halves, as read from a file.
    package init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Hashes bytes under Tandem's fixed key.
    ///
    /// Cost: about 1 ns per byte.
    package init(_ bytes: [UInt8]) {
        self.init(bytes, key: (0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908))
    }

    init(_ bytes: [UInt8], key: (UInt64, UInt64)) {
        var state = SipState(key: key)
        let whole = bytes.count & ~7
        bytes.withUnsafeBytes { buffer in
            for at in stride(from: 0, to: whole, by: 8) {
                let word = buffer.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                state.absorb(UInt64(littleEndian: word))
            }
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        for (index, byte) in bytes[whole...].enumerated() { last |= UInt64(byte) << (8 * index) }
        state.absorb(last)
        (first, second) = state.digest()
    }

    /// The digest as 32 hexadecimal digits.
    package var description: String {
        LogID(high: first.byteSwapped, low: second.byteSwapped).description.filter { $0 != "-" }
    }

    /// Parses the printed form.
    package init?(_ description: String) {
        guard let halves = LogID(description) else { return nil }
        self.init(first: halves.high.byteSwapped, second: halves.low.byteSwapped)
    }
}

/// The four words of SipHash and its rounds.
private struct SipState {
    var v0, v1, v2, v3: UInt64

    init(key: (UInt64, UInt64)) {
        v0 = 0x736f_6d65_7073_6575 ^ key.0
        v1 = 0x646f_7261_6e64_6f6d ^ key.1 ^ 0xee
        v2 = 0x6c79_6765_6e65_7261 ^ key.0
        v3 = 0x7465_6462_7974_6573 ^ key.1
    }

    mutating func absorb(_ word: UInt64) {
        v3 ^= word
        rounds(2)
        v0 ^= word
    }

    mutating func digest() -> (UInt64, UInt64) {
        v2 ^= 0xee
        rounds(4)
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        rounds(4)
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }

    private mutating func rounds(_ count: Int) {
        for _ in 0..<count {
            v0 &+= v1
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 &+= v3
            v3 = rotate(v3, 16) ^ v2
            v0 &+= v3
            v3 = rotate(v3, 21) ^ v0
            v2 &+= v1
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)
        }
    }

    private func rotate(_ value: UInt64, _ by: UInt64) -> UInt64 {
        (value << by) | (value >> (64 - by))
    }
}

/// SHA-256 according to FIPS 180-4, the collision-resistant hash of blobs.
///
/// Blobs are found by their hash, and a client that may write to a store must not be able to
/// substitute one blob for another, so ``StableHash`` is not sufficient. SHA-256 is implemented
/// here because it is only a page of arithmetic with published test vectors; packages that provide
/// it build a whole cryptographic library.
struct SHA256 {
    private typealias Words = UnsafeMutablePointer<UInt32>
    private static let firstState: [UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a,
        0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
    ]

    private let constants: UnsafePointer<UInt32>
    /// Eight words of state, followed by the 64 words of a block's schedule.
    ///
    /// The words are in raw memory instead of arrays, because debug builds would count references
    /// and check bounds at every step.
    private let state: Words
    private var schedule: Words { state + 8 }

    /// Returns the digest of bytes, which has 32 bytes.
    ///
    /// Cost: a few nanoseconds per byte.
    static func digest(of bytes: some Collection<UInt8>) -> [UInt8] {
        let whole = Array(bytes)
        let blocks = whole.count & ~63
        let last = padded(whole[blocks...], length: whole.count)
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 8 + 64) { words in
            _ = words.initialize(from: firstState + [UInt32](repeating: 0, count: 64))
            return constants.withUnsafeBufferPointer { constants in
                guard let constants = constants.baseAddress, let state = words.baseAddress else {
                    preconditionFailure("Neither buffer is empty.")
                }
                let hash = SHA256(constants: constants, state: state)
                whole.withUnsafeBytes { hash.absorb($0, upTo: blocks) }
                last.withUnsafeBytes { hash.absorb($0, upTo: last.count) }
                return words.prefix(8).flatMap { word in
                    withUnsafeBytes(of: word.bigEndian) { Array($0) }
                }
            }
        }
    }

    /// Returns the remaining bytes with padding: a one bit, zeros, and the length in bits as the
    /// last eight bytes of a block.
    private static func padded(_ rest: ArraySlice<UInt8>, length: Int) -> [UInt8] {
        var last = Array(rest) + [0x80]
        while last.count % 64 != 56 { last.append(0) }
        withUnsafeBytes(of: (UInt64(length) * 8).bigEndian) { last.append(contentsOf: $0) }
        return last
    }

    private func absorb(_ buffer: UnsafeRawBufferPointer, upTo end: Int) {
        var start = 0
        while start < end {
            absorb(buffer, at: start)
            start += 64
        }
    }

    private func absorb(_ buffer: UnsafeRawBufferPointer, at start: Int) {
        var index = 0
        while index < 16 {
            let word = buffer.loadUnaligned(fromByteOffset: start + 4 * index, as: UInt32.self)
            schedule[index] = UInt32(bigEndian: word)
            index += 1
        }
        while index < 64 {
            let a = schedule[index - 15]
            let b = schedule[index - 2]
            let small0 = rotate(a, 7) ^ rotate(a, 18) ^ (a &>> 3)
            let small1 = rotate(b, 17) ^ rotate(b, 19) ^ (b &>> 10)
            schedule[index] = schedule[index - 16] &+ small0 &+ schedule[index - 7] &+ small1
            index += 1
        }
        compress()
    }

    private func compress() {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        var index = 0
        while index < 64 {
            let big1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ big1 &+ choice &+ constants[index] &+ schedule[index]
            let big0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
            let majority = (a & b) ^ (a & c) ^ (b & c)
            (h, g, f, e) = (g, f, e, d &+ first)
            (d, c, b, a) = (c, b, a, first &+ big0 &+ majority)
            index += 1
        }
        add(a, b, c, d, to: state)
        add(e, f, g, h, to: state + 4)
    }

    private func rotate(_ value: UInt32, _ by: UInt32) -> UInt32 {
        value &>> by | value &<< (32 &- by)
    }

    private func add(_ a: UInt32, _ b: UInt32, _ c: UInt32, _ d: UInt32, to words: Words) {
        words[0] &+= a
        words[1] &+= b
        words[2] &+= c
        words[3] &+= d
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4,
        0xab1c_5ed5, 0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe,
        0x9bdc_06a7, 0xc19b_f174, 0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f,
        0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da, 0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7,
        0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967, 0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc,
        0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85, 0xa2bf_e8a1, 0xa81a_664b,
        0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070, 0x19a4_c116,
        0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7,
        0xc671_78f2,
    ]
}

import TandemIO
import TestSupport
import Testing

@testable import TandemDaemon

/// A channel that accepts a limited number of bytes, in pieces of random length.
final class ChoppingChannel: ClientChannel {
    let descriptor: Int32 = -1
    var room = 0
    var chops = true
    /// Whether the other side has closed the connection.
    var isGone = false
    private(set) var taken: [UInt8] = []
    private(set) var writes = 0
    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> ReadResult {
        .wouldBlock
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(IOError) -> WriteResult {
        if isGone { return .closed }
        guard room > 0 else { return .wouldBlock }
        writes += 1
        let most = min(room, bytes.count)
        let count = chops ? Int.random(in: 1...most, using: &random) : most
        taken += bytes[..<count]
        if room != .max { room -= count }
        return .bytes(count)
    }

    func shutdown() {}
}

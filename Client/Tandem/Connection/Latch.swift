import TandemIO
import TandemModel

/// Lets one thread wait until another has something for it; used again and again.
///
/// A pair of sockets does it: one system call to wait, one to wake.
final class Latch: Sendable {
    private let waiting: Socket
    private let waking: Socket

    init() throws(TandemError) {
        do {
            (waiting, waking) = try Socket.pair()
        } catch {
            throw TandemError(.limitExceeded, "no descriptor is left to wait with: \(error)")
        }
    }

    /// Wakes the one that waits, now or later.
    func signal() {
        let byte: [UInt8] = [1]
        // It can only fail when the other end is gone, and both live as long as the latch.
        _ = byte.withUnsafeBytes { try? waking.write($0) }
    }

    /// Waits for one signal.
    func wait() {
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            _ = try? waiting.readSome(into: buffer)
        }
    }
}

/// The latches of a connection that nobody waits on right now.
final class LatchPool: Sendable {
    private let idle = Locked<[Latch]>([])

    func take() throws(TandemError) -> Latch {
        if let latch = idle.withLock({ $0.popLast() }) { return latch }
        return try Latch()
    }

    /// Keeps a latch whose signal was taken.
    func give(back latch: Latch) {
        idle.withLock { if $0.count < 16 { $0.append(latch) } }
    }
}

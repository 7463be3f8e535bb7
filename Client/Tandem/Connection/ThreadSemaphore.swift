import TandemIO
import TandemModel

/// A reusable counting semaphore for one waiting thread, made of a socket pair.
///
/// Waiting and signalling cost one system call each.
final class ThreadSemaphore: Sendable {
    private let waiting: Socket
    private let waking: Socket

    init() throws(TandemError) {
        do {
            (waiting, waking) = try Socket.pair()
        } catch {
            throw TandemError(
                .limitExceeded, "no file descriptor is left for a waiting thread: \(error)")
        }
    }

    /// Wakes the waiting thread, now or when it begins to wait.
    func signal() {
        let byte: [UInt8] = [1]
        // This can only fail if the other end is closed, but both ends live as long as the
        // semaphore.
        _ = byte.withUnsafeBytes { try? waking.write($0) }
    }

    /// Waits for one signal.
    func wait() {
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            _ = try? waiting.readSome(into: buffer)
        }
    }
}

/// The unused semaphores of a connection.
final class SemaphorePool: Sendable {
    private let idle = Locked<[ThreadSemaphore]>([])

    func acquire() throws(TandemError) -> ThreadSemaphore {
        if let semaphore = idle.withLock({ $0.popLast() }) { return semaphore }
        return try ThreadSemaphore()
    }

    /// Puts a semaphore back into the pool; its signal must have been consumed.
    func release(_ semaphore: ThreadSemaphore) {
        idle.withLock { if $0.count < 16 { $0.append(semaphore) } }
    }
}

import Glibc

/// Wakes a thread that waits in a ``Poller``, from any thread.
public final class WakeUp: Sendable {
    /// Readable after ``signal()`` until ``clear()``.
    public let descriptor: Int32

    /// Makes one that is not signalled.
    public init() throws(IOError) {
        descriptor = try check(.poll, "<eventfd>") {
            Linux.eventDescriptor(0, Linux.closeOnExec | Linux.nonBlocking)
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Makes the descriptor readable; signals before the next ``clear()`` count as one.
    public func signal() {
        var one: UInt64 = 1
        // EAGAIN means that it is signalled already.
        _ = Glibc.write(descriptor, &one, 8)
    }

    /// Takes all signals so far.
    ///
    /// Call it before looking at what was signalled.
    public func clear() {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
    }
}

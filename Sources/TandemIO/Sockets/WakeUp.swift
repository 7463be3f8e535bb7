import Glibc

/// An event that wakes a thread waiting in a ``Poller``, from any thread.
public final class WakeUp: Sendable {
    /// The descriptor, readable between ``signal()`` and ``clear()``.
    public let descriptor: Int32

    /// Creates an event that is not signalled.
    public init() throws(IOError) {
        descriptor = try check(.poll, "<eventfd>") {
            Linux.eventDescriptor(0, Linux.closeOnExec | Linux.nonBlocking)
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Makes the descriptor readable; signals before the next ``clear()`` count as one.
    public func signal() {
        var one: UInt64 = 1
        // EAGAIN means that the event is already signalled.
        _ = Glibc.write(descriptor, &one, 8)
    }

    /// Clears all signals so far.
    ///
    /// Call it before reading the data that the event announces.
    public func clear() {
        var count: UInt64 = 0
        _ = Glibc.read(descriptor, &count, 8)
    }
}

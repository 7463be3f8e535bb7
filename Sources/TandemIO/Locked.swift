import Glibc

/// A value behind a lock: whoever wants it takes the lock for the length of a closure.
///
/// The standard library's `Mutex` does the same and is a little smaller, but the thread sanitizer can't see it on Linux and
/// reports everything that it guards. This one is a kernel mutex, which the sanitizer knows.
///
///     let count = Locked(0)
///     count.withLock { $0 += 1 }
public final class Locked<Value>: @unchecked Sendable {
    // `value` is guarded by `lock`, and lies behind it: the compiler need not look whether somebody else uses it.
    @usableFromInline let lock: KernelMutex
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// A lock around a value that nobody else holds.
    public init(_ value: sending Value) {
        let alignment = max(MemoryLayout<Value>.alignment, MemoryLayout<pthread_mutex_t>.alignment)
        let offset = (MemoryLayout<pthread_mutex_t>.size + alignment - 1) & ~(alignment - 1)
        let room = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Value>.size, alignment: alignment)
        lock = KernelMutex(in: room)
        self.value = (room + offset).initializeMemory(as: Value.self, to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        lock.destroy()
    }

    /// Runs `body` with the value while no other thread does.
    ///
    /// Keep it short, and take no other lock in it. Rethrows what `body` throws. Cost: about 20 ns when nobody waits.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value.pointee)
    }
}

/// The kernel's mutex at the beginning of a piece of memory, which it owns, until its one owner destroys it.
@usableFromInline
// `mutex` is its own guard; it is initialised once and never moves.
struct KernelMutex: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init(in room: UnsafeMutableRawPointer) {
        mutex = room.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    func destroy() {
        pthread_mutex_destroy(mutex)
        UnsafeMutableRawPointer(mutex).deallocate()
    }

    @usableFromInline func lock() { pthread_mutex_lock(mutex) }

    @usableFromInline func unlock() { pthread_mutex_unlock(mutex) }
}

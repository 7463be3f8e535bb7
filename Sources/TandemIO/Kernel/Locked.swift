import Glibc

/// A value protected by a lock, which is held for the duration of a closure.
///
/// The standard library's `Mutex` does the same and is slightly smaller. On Linux, however, the
/// thread sanitizer can't see `Mutex` and reports every access to a value that it guards. This type
/// uses a kernel mutex, which the sanitizer understands.
///
///     let count = Locked(0)
///     count.withLock { $0 += 1 }
public final class Locked<Value>: @unchecked Sendable {
    // `value` is guarded by `lock` and stored after it in the same allocation. The compiler adds no
    // check for exclusive access through a pointer.
    @usableFromInline let lock: KernelMutex
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// Creates a lock around a value that nothing else uses.
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

    /// Calls `body` with the value while no other thread has access.
    ///
    /// Keep `body` short, and acquire no other lock in it. Rethrows the errors of `body`. Cost:
    /// about 20 ns without contention.
    @inlinable
    public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        lock.lock()
        defer { lock.unlock() }
        return try body(&value.pointee)
    }
}

/// A kernel mutex at the beginning of an allocation.
///
/// The mutex owns the allocation until its single owner calls ``destroy()``.
@usableFromInline
// The mutex synchronises itself; it is initialised once and never moves.
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

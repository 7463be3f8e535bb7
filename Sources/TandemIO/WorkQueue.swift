import Glibc

/// Elements that one thread hands to others, which wait for them.
///
///     let queue = WorkQueue<Job>()
///     let thread = try KernelThread.start(name: "reader") { while let job = queue.take() { job.run() } }
///     queue.add(job)
///     queue.close()
///     thread.join()
public final class WorkQueue<Element: Sendable>: @unchecked Sendable {
    // `elements` and `isClosed` are guarded by `mutex`.
    private var elements: [Element] = []
    private var isClosed = false
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// A queue of nothing.
    public init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Adds an element, for one of those who wait.
    public func add(_ element: Element) {
        pthread_mutex_lock(mutex)
        elements.append(element)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Takes the first element, and waits for one if there is none; nil after ``close()``.
    public func take() -> Element? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while elements.isEmpty, !isClosed { pthread_cond_wait(condition, mutex) }
        return isClosed ? nil : elements.removeFirst()
    }

    /// Ends it: nobody waits any more, and what is in it is dropped.
    public func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        elements = []
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}

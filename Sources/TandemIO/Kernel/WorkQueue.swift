import DequeModule
import Glibc

/// A queue through which one thread passes elements to waiting threads.
///
///     let queue = WorkQueue<Job>()
///     let thread = try KernelThread.start(name: "reader") {
///         while let job = queue.dequeue() { job.run() }
///     }
///     queue.add(job)
///     queue.close()
///     thread.join()
public final class WorkQueue<Element: Sendable>: @unchecked Sendable {
    // `elements` and `isClosed` are guarded by `mutex`.
    private var elements: Deque<Element> = []
    private var isClosed = false
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    /// Creates an empty queue.
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

    /// Adds an element, and wakes one waiting thread.
    public func add(_ element: Element) {
        pthread_mutex_lock(mutex)
        elements.append(element)
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Removes and returns the first element, waiting for one; nil after ``close()``.
    public func dequeue() -> Element? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while elements.isEmpty, !isClosed { pthread_cond_wait(condition, mutex) }
        return isClosed ? nil : elements.removeFirst()
    }

    /// Closes the queue: waiting threads return, and remaining elements are dropped.
    public func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        elements = []
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }
}

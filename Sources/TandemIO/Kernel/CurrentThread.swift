import Glibc
import Synchronization

/// The thread that runs the calling code.
package enum CurrentThread {
    /// The main thread's `pthread_self()`; 0 until the main thread has called ``isMain``.
    ///
    /// The C library does not reuse the value, even after the main thread has ended.
    private static let knownMain = Atomic<UInt>(0)

    /// The kernel's id of the thread.
    package static var id: Int32 { Linux.threadID() }

    /// Whether the thread is the one that runs the program's `main`.
    package static var isMain: Bool {
        let own = pthread_self()
        let known = knownMain.load(ordering: .relaxed)
        if known != 0 { return known == own }
        guard id == getpid() else { return false }
        knownMain.store(own, ordering: .relaxed)
        return true
    }
}

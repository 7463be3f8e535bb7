import Glibc
import Synchronization

/// A kernel thread, for work that may block or must not move between threads.
///
///     let thread = try KernelThread.start(name: "committer") { run() }
///     thread.join()
public final class KernelThread: Sendable {
    private let handle: pthread_t
    private let isJoined = Atomic<Bool>(false)

    private init(handle: pthread_t) { self.handle = handle }

    deinit {
        if !isJoined.load(ordering: .acquiring) { pthread_detach(handle) }
    }

    /// Starts a thread that runs `body`.
    ///
    /// The kernel shows the first 15 bytes of `name`. A thread that is never joined still runs to
    /// its end.
    public static func start(
        name: String, stackBytes: Int = 1 << 20, body: @escaping @Sendable () -> Void
    ) throws(IOError) -> KernelThread {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, max(stackBytes, 65_536))
        let box = Unmanaged.passRetained(Body(name: name, run: body))
        var handle = pthread_t()
        let result = pthread_create(&handle, &attributes, enterThread, box.toOpaque())
        guard result == 0 else {
            box.release()
            throw IOError(.startThread, name, errno: result)
        }
        return KernelThread(handle: handle)
    }

    /// Pauses the calling thread; a signal ends the pause early.
    public static func sleep(nanoseconds: UInt64) {
        var time = timespec(
            tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
        nanosleep(&time, nil)
    }

    /// Waits until the thread has ended.
    ///
    /// Only the first call waits.
    public func join() {
        if isJoined.exchange(true, ordering: .acquiringAndReleasing) { return }
        pthread_join(handle, nil)
    }

    fileprivate final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }
}

/// The C entry point of a thread: sets its name and runs its body.
private func enterThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let argument else { return nil }
    let body = Unmanaged<KernelThread.Body>.fromOpaque(argument).takeRetainedValue()
    let name = String(decoding: body.name.utf8.prefix(15), as: UTF8.self)
    _ = Linux.setThreadName?(pthread_self(), name)
    body.run()
    return nil
}

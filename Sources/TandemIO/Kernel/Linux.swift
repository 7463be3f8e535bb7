import Glibc

/// Linux calls that the `Glibc` module does not export, looked up in the C library.
///
/// `Glibc` imports the headers without `_GNU_SOURCE`, so these functions are looked up by name on
/// first use. Every supported C library exports all functions except the optional ones.
enum Linux {
    typealias EpollCreate = @convention(c) @Sendable (Int32) -> Int32
    typealias EpollControl =
        @convention(c) @Sendable (Int32, Int32, Int32, UnsafeMutableRawPointer?) -> Int32
    typealias EpollWait =
        @convention(c) @Sendable (Int32, UnsafeMutableRawPointer?, Int32, Int32) -> Int32
    typealias EventDescriptor = @convention(c) @Sendable (UInt32, Int32) -> Int32
    typealias SignalDescriptor =
        @convention(c) @Sendable (Int32, UnsafeRawPointer?, Int32) -> Int32
    typealias RandomBytes = @convention(c) @Sendable (UnsafeMutableRawPointer?, Int, UInt32) -> Int
    typealias Accept =
        @convention(c) @Sendable (
            Int32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, Int32
        ) -> Int32
    typealias IsCurrentExecutor = @convention(c) @Sendable (UInt, UInt, UInt64) -> Bool
    typealias ThreadID = @convention(c) @Sendable () -> Int32
    typealias Pipe = @convention(c) @Sendable (UnsafeMutablePointer<Int32>?, Int32) -> Int32
    typealias SetThreadName = @convention(c) @Sendable (pthread_t, UnsafePointer<CChar>) -> Int32
    typealias ErrorName = @convention(c) @Sendable (Int32) -> UnsafePointer<CChar>?

    typealias SetHeapOption = @convention(c) @Sendable (Int32, Int32) -> Int32
    typealias TrimHeap = @convention(c) @Sendable (Int) -> Int32

    static let epollCreate: EpollCreate = required("epoll_create1")
    static let epollControl: EpollControl = required("epoll_ctl")
    static let epollWait: EpollWait = required("epoll_wait")
    static let eventDescriptor: EventDescriptor = required("eventfd")
    static let signalDescriptor: SignalDescriptor = required("signalfd")
    static let randomBytes: RandomBytes = required("getrandom")
    static let accept: Accept = required("accept4")
    static let pipe: Pipe = required("pipe2")
    static let threadID: ThreadID = required("gettid")
    static let setThreadName: SetThreadName? = optional("pthread_setname_np")
    static let strerrorname: ErrorName? = optional("strerrorname_np")

    /// A function of Swift's runtime; inlined library code calls it, so its symbol is stable.
    static let isCurrentExecutor: IsCurrentExecutor? = optional(
        "swift_task_isCurrentExecutorWithFlags")
    static let trimHeap: TrimHeap? = optional("malloc_trim")
    static let setHeapOption: SetHeapOption? = optional("mallopt")

    /// `O_CLOEXEC`, which is also `SOCK_CLOEXEC`, `EPOLL_CLOEXEC` and `EFD_CLOEXEC`.
    static let closeOnExec: Int32 = O_CLOEXEC
    /// `O_NONBLOCK`, which is also `SOCK_NONBLOCK` and `EFD_NONBLOCK`.
    static let nonBlocking: Int32 = O_NONBLOCK

    private static func optional<Function>(_ name: String) -> Function? {
        guard let symbol = dlsym(nil, name) else { return nil }
        return unsafeBitCast(symbol, to: Function.self)
    }

    private static func required<Function>(_ name: String) -> Function {
        guard let function: Function = optional(name) else {
            preconditionFailure("The C library has no \(name).")
        }
        return function
    }
}

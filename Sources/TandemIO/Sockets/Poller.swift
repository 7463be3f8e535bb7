import Glibc

/// The events for which a ``Poller`` watches a descriptor.
public struct Interest: OptionSet, Hashable, Sendable {
    /// The bits of epoll.
    public let rawValue: UInt32

    /// Creates an interest from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Data can be read, or the peer has closed the connection.
    public static let read = Interest(rawValue: 0x001)
    /// Data can be written.
    public static let write = Interest(rawValue: 0x004)
}

/// Waits for events on many descriptors at once (epoll, level-triggered).
///
/// Bound to one thread.
///
/// A descriptor is removed automatically when it is closed.
///
///     let poller = try Poller()
///     try poller.add(listener.descriptor, token: 1, interest: .read)
///     var events: [Poller.Event] = []
///     try poller.wait(timeoutMilliseconds: -1, into: &events)
public final class Poller {
    /// The readiness of one descriptor.
    public struct Event: Hashable, Sendable {
        /// The token given when the descriptor was added.
        public var token: UInt64
        /// Whether reading will not block; also true if the peer has closed the connection.
        public var isReadable: Bool
        /// Whether writing will not block.
        public var isWritable: Bool
        /// Whether the peer has closed the connection or the descriptor failed.
        public var isClosed: Bool

        /// Creates an event with the given content.
        public init(token: UInt64, isReadable: Bool, isWritable: Bool, isClosed: Bool) {
            self.token = token
            self.isReadable = isReadable
            self.isWritable = isWritable
            self.isClosed = isClosed
        }
    }

    /// The largest number of events that one call returns.
    public static let maximumEvents = 256

    private let queue: Descriptor
    private let buffer: UnsafeMutableRawBufferPointer
    private var descriptor: Int32 { queue.number }

    /// The epoll descriptor, closed when neither the poller nor a watch needs it.
    fileprivate final class Descriptor: Sendable {
        let number: Int32
        init(_ number: Int32) { self.number = number }
        deinit { _ = Glibc.close(number) }
    }

    /// The interest in one descriptor, which any thread may change while another one waits.
    public struct Watch: Sendable {
        fileprivate let queue: Descriptor
        fileprivate let target: Int32
        fileprivate let token: UInt64

        /// Changes the interest; closing is always reported.
        public func set(_ interest: Interest) throws(IOError) {
            try Poller.control(queue.number, 3, target, token, interest)
        }
    }

    // struct epoll_event is packed on x86-64 only.
    #if arch(x86_64)
    private static let stride = 12
    private static let tokenOffset = 4
    #else
    private static let stride = 16
    private static let tokenOffset = 8
    #endif

    /// Creates a poller that watches no descriptor.
    public init() throws(IOError) {
        queue = Descriptor(
            try check(.poll, "<epoll>") { Linux.epollCreate(Linux.closeOnExec) })
        buffer = .allocate(byteCount: Self.stride * Self.maximumEvents, alignment: 8)
    }

    deinit { buffer.deallocate() }

    /// Watches a descriptor; its events carry `token`.
    public func add(_ target: Int32, token: UInt64, interest: Interest) throws(IOError) {
        try Self.control(descriptor, 1, target, token, interest)
    }

    /// Watches a descriptor, which has to stay open as long as the watch is used.
    public func watch(
        _ target: Int32, token: UInt64, interest: Interest
    ) throws(IOError) -> Watch {
        try add(target, token: token, interest: interest)
        return Watch(queue: queue, target: target, token: token)
    }

    /// Changes the interest in a watched descriptor.
    public func modify(_ target: Int32, token: UInt64, interest: Interest) throws(IOError) {
        try Self.control(descriptor, 3, target, token, interest)
    }

    /// Stops watching a descriptor.
    public func remove(_ target: Int32) throws(IOError) {
        try Self.control(descriptor, 2, target, 0, [])
    }

    /// Waits until a descriptor is ready, and replaces the content of `events` with the events.
    ///
    /// Leaves `events` empty after the timeout or a signal. A negative timeout waits indefinitely,
    /// and zero does not wait.
    public func wait(timeoutMilliseconds: Int32, into events: inout [Event]) throws(IOError) {
        events.removeAll(keepingCapacity: true)
        let count = Linux.epollWait(
            descriptor, buffer.baseAddress, Int32(Self.maximumEvents), timeoutMilliseconds)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw IOError(.poll, "<epoll>", errno: errno)
        }
        for index in 0..<Int(count) {
            let start = index * Self.stride
            let bits = buffer.loadUnaligned(fromByteOffset: start, as: UInt32.self)
            let token = buffer.loadUnaligned(
                fromByteOffset: start + Self.tokenOffset, as: UInt64.self)
            // EPOLLERR 0x8, EPOLLHUP 0x10.
            let closed = bits & 0x18 != 0
            events.append(
                Event(
                    token: token, isReadable: closed || bits & Interest.read.rawValue != 0,
                    isWritable: bits & Interest.write.rawValue != 0, isClosed: closed))
        }
    }

    fileprivate static func control(
        _ descriptor: Int32, _ operation: Int32, _ target: Int32, _ token: UInt64,
        _ interest: Interest
    ) throws(IOError) {
        let result = withUnsafeTemporaryAllocation(byteCount: stride, alignment: 8) { event in
            event.storeBytes(of: interest.rawValue, as: UInt32.self)
            event.storeBytes(of: token, toByteOffset: tokenOffset, as: UInt64.self)
            return Linux.epollControl(descriptor, operation, target, event.baseAddress)
        }
        if result != 0 { throw IOError(.poll, "<descriptor \(target)>", errno: errno) }
    }
}

import Glibc

/// What came of a read from a socket that does not block.
public enum ReadResult: Hashable, Sendable {
    /// So many bytes were read, at least one.
    case bytes(Int)
    /// Nothing is there now; wait for the descriptor to become readable.
    case wouldBlock
    /// The other side is gone.
    case closed
}

/// What came of a write to a socket that does not block.
public enum WriteResult: Hashable, Sendable {
    /// So many bytes were taken, perhaps fewer than offered.
    case bytes(Int)
    /// Nothing can be taken now; wait for the descriptor to become writable.
    case wouldBlock
    /// The other side is gone.
    case closed
}

/// A connected Unix stream socket; never raises SIGPIPE.
///
/// The descriptor is closed when the last reference goes, so no thread can ever use a number that
/// has been given to somebody else. To end a conversation from any thread, call ``shutdown()``:
/// readers and writers on both sides then see it closed.
///
///     let socket = try Socket.connect(path: "/run/tandem/default.sock")
///     try socket.writeAll([1, 2, 3])
public final class Socket: Sendable {
    /// The kernel's number, for a ``Poller``.
    public let descriptor: Int32

    /// Takes over a connected socket's descriptor, which it will close.
    public init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Connects to the socket at `path`; blocks until accepted into the backlog.
    public static func connect(path: String) throws(IOError) -> Socket {
        let address = try SocketAddress(path, for: .connect)
        let socket = Socket(adopting: try SocketAddress.makeDescriptor(path))
        try check(.connect, path) {
            address.withPointer { Glibc.connect(socket.descriptor, $0, $1) }
        }
        return socket
    }

    /// Two sockets connected with each other.
    public static func pair() throws(IOError) -> (Socket, Socket) {
        var ends: [Int32] = [-1, -1]
        try check(.createSocket, "<pair>") {
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Linux.closeOnExec, 0, &ends)
        }
        return (Socket(adopting: ends[0]), Socket(adopting: ends[1]))
    }

    /// Makes reads and writes return `.wouldBlock` instead of waiting, or wait again.
    public func setNonBlocking(_ on: Bool = true) throws(IOError) {
        let flags = try check(.configureSocket, name) { fcntl(descriptor, F_GETFL) }
        let wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
        try check(.configureSocket, name) { fcntl(descriptor, F_SETFL, wanted) }
    }

    /// Lets reads of a socket that blocks wait no longer than this; they return `.wouldBlock` then.
    public func setReadTimeout(milliseconds: Int) throws(IOError) {
        precondition(milliseconds > 0, "a read waits for some time")
        var time = timeval(
            tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
        let size = socklen_t(MemoryLayout<timeval>.size)
        try check(.configureSocket, name) {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        }
    }

    /// Ends the conversation in both directions.
    ///
    /// May be called from any thread, and twice.
    public func shutdown() {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    }

    var name: String { "<socket \(descriptor)>" }
}

import Glibc

/// The result of a read from a socket.
public enum ReadResult: Hashable, Sendable {
    /// The number of bytes read, at least one.
    case bytes(Int)
    /// No bytes are available; wait for the descriptor to become readable.
    case wouldBlock
    /// The peer has closed the connection.
    case closed
}

/// The result of a write to a socket.
public enum WriteResult: Hashable, Sendable {
    /// The number of bytes accepted, perhaps fewer than offered.
    case bytes(Int)
    /// No bytes can be accepted; wait for the descriptor to become writable.
    case wouldBlock
    /// The peer has closed the connection.
    case closed
}

/// A connected Unix stream socket; never raises SIGPIPE.
///
/// The descriptor is closed when the last reference is released, so no thread can use a number that
/// the kernel has given to another file. To end a connection from any thread, call ``shutdown()``:
/// readers and writers on both sides then see it closed.
///
///     let socket = try Socket.connect(path: "/run/tandem/default.sock")
///     try socket.writeAll([1, 2, 3])
public final class Socket: Sendable {
    /// The file descriptor, for a ``Poller``.
    public let descriptor: Int32

    /// Adopts the descriptor of a connected socket, and closes it when released.
    public init(adopting descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Connects to the socket at `path`; blocks until the connection is in the backlog.
    public static func connect(path: String) throws(IOError) -> Socket {
        let address = try SocketAddress(path, for: .connect)
        let socket = Socket(adopting: try SocketAddress.makeDescriptor(path))
        try check(.connect, path) {
            address.withPointer { Glibc.connect(socket.descriptor, $0, $1) }
        }
        return socket
    }

    /// Creates a pair of connected sockets.
    public static func pair() throws(IOError) -> (Socket, Socket) {
        var ends: [Int32] = [-1, -1]
        try check(.createSocket, "<pair>") {
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Linux.closeOnExec, 0, &ends)
        }
        return (Socket(adopting: ends[0]), Socket(adopting: ends[1]))
    }

    /// Sets whether reads and writes return `.wouldBlock` instead of waiting.
    public func setNonBlocking(_ on: Bool = true) throws(IOError) {
        let flags = try check(.configureSocket, name) { fcntl(descriptor, F_GETFL) }
        let wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
        try check(.configureSocket, name) { fcntl(descriptor, F_SETFL, wanted) }
    }

    /// Sets the timeout of reads from a blocking socket; they return `.wouldBlock` on a timeout.
    public func setReadTimeout(milliseconds: Int) throws(IOError) {
        precondition(milliseconds > 0, "A timeout must be positive.")
        var time = timeval(
            tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
        let size = socklen_t(MemoryLayout<timeval>.size)
        try check(.configureSocket, name) {
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, size)
        }
    }

    /// Shuts the connection down in both directions.
    ///
    /// May be called from any thread and more than once.
    public func shutdown() {
        _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
    }

    var name: String { "<socket \(descriptor)>" }
}

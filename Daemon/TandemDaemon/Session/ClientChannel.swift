import TandemIO

/// The daemon's end of a client's connection: a socket, or an in-memory pipe in simulations.
///
/// Reads and writes never block. A call through the protocol costs about a nanosecond; the system
/// call costs a thousand times that.
protocol ClientChannel: AnyObject {
    /// The number that identifies the connection to an ``EventPoller``.
    var descriptor: Int32 { get }

    /// Reads the available bytes, up to the buffer's size.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(IOError) -> ReadResult

    /// Writes as many of the bytes as are accepted immediately.
    func write(_ bytes: UnsafeRawBufferPointer) throws(IOError) -> WriteResult

    /// Shuts down both directions.
    func shutdown()
}

extension Socket: ClientChannel {}

package import TandemModel

/// The limits of the protocol.
///
/// A daemon can be configured with other limits on requests in flight, queued bytes and
/// controllers, and with smaller frames and messages; its welcome names them (``SessionLimits``). A
/// client that exceeds a limit gets an error or is disconnected; nothing is dropped silently.
package enum WireLimits {
    /// The protocol version of this build; it changes whenever a message's format changes.
    package static let protocolVersion: UInt16 = 3
    /// The largest payload of a frame in bytes: a peer buffers at most this much before the next
    /// header.
    package static let frameBytes = 1 << 20
    /// The space in a message for everything but its transaction, in bytes.
    package static let aroundTransaction = 64 << 10
    /// The largest message from client to daemon in bytes: a transaction of 16 MiB and the data
    /// around it.
    package static let clientMessageBytes = (16 << 20) + aroundTransaction
    /// The largest hello in bytes: enough for a model in JSON, but small, because any peer may send
    /// one.
    package static let helloBytes = 4 << 20
    /// The largest message from daemon to client in bytes; protects a client from damaged lengths.
    package static let daemonMessageBytes = 1 << 30
    /// The default for the largest number of requests in flight per connection.
    package static let requestsInFlight = 64
    /// The number of unprocessed bytes above which a connection is no longer read.
    package static let inboundQueueBytes = 4 << 20
    /// The time allowed from the connection to the hello, and from the hello to the welcome, in
    /// milliseconds.
    package static let handshakeMilliseconds: Int64 = 5_000
    /// The default for the largest number of open controllers per connection, and of items in one
    /// verdict request.
    package static let controllers = 256
    /// The largest number of items in one verdict request, whatever the daemon's configuration.
    package static let verdictItems = 4_096
    /// The largest save id in bytes.
    package static let saveIDBytes = 64
    /// The largest batch id in bytes.
    package static let batchIDBytes = saveIDBytes - 8
    /// The largest number of objects in one transaction of a batch, and of rows in one chunk of a
    /// batch insert.
    ///
    /// Objects that a delete rule adds for a single object are not counted.
    package static let batchObjects = 1_000
    /// The largest number of objects in one ``HistoryCondition``.
    package static let historyObjects = 1 << 16
    /// The largest number of names, properties or key paths in one list; real models have fewer
    /// entities than this.
    package static let names = 4_096
    /// The largest number of hops in one key path.
    package static let keyPathHops = 64
    /// The longest name of an author or a context, in bytes of UTF-8.
    package static let nameBytes = 256

    /// Throws `usage` for a name longer than ``nameBytes``; `kind` appears in the message.
    package static func check(name: String, of kind: String) throws(TandemError) {
        let bytes = name.utf8.count
        guard bytes > nameBytes else { return }
        throw TandemError(
            .usage,
            "the name of the \(kind) has \(bytes) bytes, more than the maximum of \(nameBytes); shorten it"
        )
    }
}

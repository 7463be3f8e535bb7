public import TandemModel

/// The bounds of the protocol, all in one place.
///
/// A daemon can be configured to other requests in flight, bytes queued and controllers, and to
/// smaller frames and messages than these: ``SessionLimits``.
/// What exceeds one is answered with an error or closes the connection; nothing is dropped
/// silently.
public enum WireLimits {
    /// The version of the protocol that this build speaks: another one for every change of what messages are made of.
    public static let protocolVersion: UInt16 = 3
    /// The payload of one frame: no peer has to hold more than this to see the next header.
    public static let frameBytes = 1 << 20
    /// What a message has room for around a transaction.
    public static let aroundTransaction = 64 << 10
    /// A message from client to daemon: a transaction of 16 MiB and what is around it.
    public static let clientMessageBytes = (16 << 20) + aroundTransaction
    /// A hello, which anybody may send: room for a model in JSON, not for a transaction.
    public static let helloBytes = 4 << 20
    /// A message from daemon to client: bounds what a damaged length could make a client collect.
    public static let daemonMessageBytes = 1 << 30
    /// Requests of one connection without an answer.
    public static let requestsInFlight = 64
    /// Bytes that were received from one connection and are not handled yet; then it is not read.
    public static let inboundQueueBytes = 4 << 20
    /// Milliseconds from the connection to the hello, and from the hello to the welcome.
    public static let handshakeMilliseconds: Int64 = 5_000
    /// Open controllers of one connection, and the questions in one verdict request.
    public static let controllers = 256
    /// The questions in one verdict request, whatever a daemon is configured to.
    public static let verdictItems = 4_096
    /// The bytes of a save id.
    public static let saveIDBytes = 64
    /// The bytes of a batch's id.
    public static let batchIDBytes = saveIDBytes - 8
    /// The objects of one transaction of a batch, apart from what a delete rule takes along with a single one, and the rows
    /// of one part of a batch insert.
    public static let batchObjects = 1_000
    /// The objects of which one condition on a history may name some.
    public static let historyObjects = 1 << 16
    /// The names, properties or key paths in one list: more entities than any model has in practice.
    public static let names = 4_096
    /// The hops of one key path.
    public static let keyPathHops = 64
    /// The bytes of the name of an author or a context, in UTF-8.
    public static let nameBytes = 256

    /// Throws `usage` for a name of more than ``nameBytes``; `kind` says whose it is.
    public static func check(name: String, of kind: String) throws(TandemError) {
        let bytes = name.utf8.count
        guard bytes > nameBytes else { return }
        throw TandemError(
            .usage,
            "the name of the \(kind) has \(bytes) bytes, at most \(nameBytes) are allowed; shorten it"
        )
    }
}

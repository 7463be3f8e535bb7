/// The origin of a transaction: values reported by the kernel and names declared by the client.
public struct Principal: Hashable, Sendable {
    /// The self-declared name, as shown by `tandem log`.
    public var author: String
    /// The name of the saving context.
    public var context: String
    /// The host, for logs shared by several hosts; empty if there is only one.
    public var host: String
    /// The systemd unit, or an empty string if the process has none.
    ///
    /// A user unit, whose name the user chooses, follows the unit of its service manager:
    /// `user@1000.service/app.service`.
    public var unit: String
    /// The user id, from the kernel.
    public var uid: UInt32
    /// The group id, from the kernel.
    public var gid: UInt32
    /// The process id, from the kernel.
    public var pid: UInt32

    /// Creates a principal.
    package init(
        author: String = "", context: String = "", host: String = "", unit: String = "",
        uid: UInt32 = 0, gid: UInt32 = 0, pid: UInt32 = 0
    ) {
        self.author = author
        self.context = context
        self.host = host
        self.unit = unit
        self.uid = uid
        self.gid = gid
        self.pid = pid
    }
}

/// A save as the journal stores it: everything that changed together, at one position.
@usableFromInline package struct Transaction: Hashable, Sendable {
    /// The content of a transaction.
    @usableFromInline package enum Content: Hashable, Sendable {
        /// Changes of objects, sorted by entity tag, then number.
        case objects([Change])
        /// A newly installed model, in the binary form of ``ModelInstallation``.
        case model([UInt8])
    }

    /// The position in the journal; 0 before it is assigned.
    @usableFromInline package var position: UInt64
    /// The wall-clock time of the save, in microseconds since 1970.
    ///
    /// The order of transactions never depends on it.
    @usableFromInline package var time: Int64
    /// The origin of the transaction.
    @usableFromInline package var principal: Principal
    /// The save id for retries; at most 64 bytes, empty if there is none.
    ///
    /// All transactions of a batch have the batch's id.
    @usableFromInline package var saveID: [UInt8]
    /// The hash of the content that the client sent, without the numbers of new objects.
    package var contentHash: StableHash
    /// The inserts whose results can't be derived from the inserted objects.
    package var exceptions: [InsertException]
    /// The progress of the batch with the id ``saveID``; nil for the transaction of a save.
    package var batch: BatchProgress?
    /// The content.
    @usableFromInline package var content: Content
    /// The blobs to which rows of this transaction refer and that the store did not have before.
    ///
    /// Blobs are stored in the journal, for replay, but not sent to clients.
    package var blobs: [Blob] = []

    /// Creates a transaction.
    package init(
        position: UInt64 = 0, time: Int64 = 0, principal: Principal = Principal(),
        saveID: [UInt8] = [], contentHash: StableHash = StableHash(first: 0, second: 0),
        exceptions: [InsertException] = [], batch: BatchProgress? = nil, content: Content,
        blobs: [Blob] = []
    ) {
        self.position = position
        self.time = time
        self.principal = principal
        self.saveID = saveID
        self.contentHash = contentHash
        self.exceptions = exceptions
        self.batch = batch
        self.content = content
        self.blobs = blobs
    }

    /// The changes; empty if the transaction installs a model.
    @usableFromInline package var changes: [Change] {
        if case .objects(let changes) = content { changes } else { [] }
    }
}

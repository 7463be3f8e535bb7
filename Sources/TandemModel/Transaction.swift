/// Who made a transaction: what the kernel says of the peer, and what the peer says of itself.
public struct Principal: Hashable, Sendable {
    /// The self-declared name, as shown by `tandem log`.
    public var author: String
    /// The name of the saving context.
    public var context: String
    /// The host, for logs that several hosts share; empty on one machine.
    public var host: String
    /// The systemd unit, or an empty string if the process has none.
    ///
    /// A user unit, whose name the user chooses, follows the unit of its service manager: `user@1000.service/app.service`.
    public var unit: String
    /// The user id, from the kernel.
    public var uid: UInt32
    /// The group id, from the kernel.
    public var gid: UInt32
    /// The process id, from the kernel.
    public var pid: UInt32

    /// A principal of the given facts.
    public init(
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

/// One save, as the journal keeps it: everything that changed, together, at one position.
public struct Transaction: Hashable, Sendable {
    /// What a transaction carries.
    public enum Content: Hashable, Sendable {
        /// Changes of objects, by entity tag, then number.
        case objects([Change])
        /// A model that was installed: ``CompiledModel``'s binary form.
        case model([UInt8])
    }

    /// The number in the journal; 0 before it has one.
    public var position: UInt64
    /// Wall clock time of the save, microseconds since 1970.
    ///
    /// Order never depends on it.
    public var time: Int64
    /// Who made it.
    public var principal: Principal
    /// The save id under which it may be repeated; at most 64 bytes, empty for none.
    ///
    /// The transactions of a batch all have the batch's.
    public var saveID: [UInt8]
    /// What the saver said it saved, apart from the numbers of new objects.
    public var contentHash: StableHash
    /// The saver's inserts that did not become new objects in the order of their numbers.
    public var exceptions: [InsertException]
    /// How far it brought the batch that it is a part of, whose id is ``saveID``; nil for a save.
    public var batch: BatchProgress?
    /// What changed.
    public var content: Content
    /// The contents that rows of this transaction stand for and that the store did not have.
    ///
    /// They are in the journal, for replay; sessions are not sent them.
    public var blobs: [Blob] = []

    /// A transaction of the given content.
    public init(
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

    /// The changes; empty when a model was installed.
    public var changes: [Change] { if case .objects(let changes) = content { changes } else { [] } }
}

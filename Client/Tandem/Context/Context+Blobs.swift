import TandemModel
import TandemWire

/// Contents that are too long for rows; they are fetched when they are read.
extension ManagedObjectContext {
    /// Returns the content of a blob in a property of an object, or nil if it can't be loaded.
    ///
    /// After a failure ``faultFailure`` has the reason.
    func content(
        of blob: BlobReference, _ property: CompiledProperty, of record: ObjectRecord
    ) -> [UInt8]? {
        let content = content(of: blob)
        if content == nil {
            recordFailedRead(property.slot, of: record)
        } else if record.isUnreadable {
            noteLoaded(record)
            dropDoubtfulEdits()
        }
        return content
    }

    /// Returns the content of a blob, or nil if it can't be loaded.
    ///
    /// Blocks if the content is not cached. After a failure ``faultFailure`` has the reason.
    func content(of blob: BlobReference) -> [UInt8]? {
        let root = root
        if let held = root.blobs[blob] { return held }
        fire { _ in
            try self.contentStep(blob).then { .done(root.blobs.keep($0, blob)) }
        }
        return root.blobs[blob]
    }

    func contentStep(_ blob: BlobReference) throws -> Step<[UInt8]> {
        guard let debug, debug.tells(.fault) else { return Connection.contentStep(blob) }
        return try told(.fault, debug) {
            [("content", "\($0.count)")]
        } _: {
            Connection.contentStep(blob)
        }
    }
}

extension Connection {
    /// Requests a content and checks it against its hash.
    static func contentStep(_ blob: BlobReference) -> Step<[UInt8]> {
        .ask(.blob(blob)) { (answer: DaemonMessage) -> [UInt8]? in
            if case .blob(let content) = answer { content } else { nil }
        } then: { content in
            guard blob.stands(for: content) else {
                throw TandemError(.storage, "the daemon sent another content than \(blob)")
            }
            return .done(content)
        }
    }
}

extension PersistentContainer {
    /// Returns the content of a blob that a snapshot or payload refers to.
    ///
    /// Throws `unknownObject` if no object has the content any more and the journal does not reach
    /// back to one that had it. Throws `disconnected` without a connection. Cost: the transfer and
    /// a SHA-256.
    ///
    ///     if case .blob(let blob) = object.snapshot["scan"] {
    ///         show(try await container.content(of: blob))
    ///     }
    ///
    /// The content of a long text is its UTF-8; ``text(of:)`` decodes it.
    public nonisolated(nonsending) func content(of blob: BlobReference) async throws -> [UInt8] {
        try await Connection.contentStep(blob).runAsync(on: connection)
    }

    /// Returns a text that is too long for its row and that a snapshot or payload refers to.
    ///
    /// Errors and cost are those of ``content(of:)``.
    public nonisolated(nonsending) func text(of text: TextReference) async throws -> String {
        String(decoding: try await content(of: text.blob), as: UTF8.self)
    }
}

/// A cache of the contents that a context read last, limited by their total size in bytes.
struct BlobCache {
    private let limit: Int
    private var contents: [BlobReference: [UInt8]] = [:]
    /// The cached blobs, the oldest first.
    private var order: [BlobReference] = []
    private var bytes = 0

    init(limit: Int) { self.limit = limit }

    subscript(blob: BlobReference) -> [UInt8]? { contents[blob] }

    /// Adds a content, and removes the oldest ones while the limit is exceeded.
    mutating func keep(_ content: [UInt8], _ blob: BlobReference) {
        guard contents.updateValue(content, forKey: blob) == nil else { return }
        order.append(blob)
        bytes += content.count
        while bytes > limit, order.count > 1 {
            bytes -= contents.removeValue(forKey: order.removeFirst())?.count ?? 0
        }
    }
}

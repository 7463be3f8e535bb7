import TandemModel
import TandemWire

/// Contents that are too long for rows, fetched when they are read.
extension ManagedObjectContext {
    /// The content of a blob that a property of an object holds; nil when it can't be had, and then ``faultFailure`` says why.
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

    /// The content of a blob; nil when it can't be had, and then ``faultFailure`` says why.
    ///
    /// Blocks when the context does not hold it.
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
    /// Asks for a content, which is checked against its hash.
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
    /// The content of a blob, as snapshots and payloads name it.
    ///
    /// Throws `unknownObject` when no object has it any more and the journal does not reach back to one that had;
    /// `disconnected`. Cost: the transfer and a SHA-256.
    ///
    ///     if case .blob(let blob) = object.snapshot["scan"] { show(try await container.content(of: blob)) }
    ///
    /// Of a long text the content is its UTF-8, and ``text(of:)`` is shorter.
    public nonisolated(nonsending) func content(of blob: BlobReference) async throws -> [UInt8] {
        try await Connection.contentStep(blob).runAsync(on: connection)
    }

    /// A text that is too long for its row, as snapshots and payloads name it.
    ///
    /// Throws and costs what ``content(of:)`` does.
    public nonisolated(nonsending) func text(of text: TextReference) async throws -> String {
        String(decoding: try await content(of: text.blob), as: UTF8.self)
    }
}

/// The contents that a context read last, up to a number of bytes.
struct BlobCache {
    private let limit: Int
    private var contents: [BlobReference: [UInt8]] = [:]
    /// The oldest first.
    private var order: [BlobReference] = []
    private var bytes = 0

    init(limit: Int) { self.limit = limit }

    subscript(blob: BlobReference) -> [UInt8]? { contents[blob] }

    /// Keeps a content, and drops the oldest others beyond the limit.
    mutating func keep(_ content: [UInt8], _ blob: BlobReference) {
        guard contents.updateValue(content, forKey: blob) == nil else { return }
        order.append(blob)
        bytes += content.count
        while bytes > limit, order.count > 1 {
            bytes -= contents.removeValue(forKey: order.removeFirst())?.count ?? 0
        }
    }
}

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
        guard let debug, debug.traces(.fault) else { return Connection.contentStep(blob) }
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

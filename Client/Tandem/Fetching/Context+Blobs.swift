import TandemModel
import TandemWire

/// Values that are too long for rows, which are fetched when they are read.
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
            didLoad(record)
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
        fire { context, calls in
            root.blobs.keep(try await context.content(of: blob, calls), blob)
        }
        return root.blobs[blob]
    }

    func content(of blob: BlobReference, _ calls: DaemonCalls) async throws -> [UInt8] {
        try await traced(.fault, { [("content", "\($0.count)")] }) {
            try await calls.content(of: blob)
        }
    }
}

extension DaemonCalls {
    /// Requests the content of a blob and checks it against the hash.
    func content(of blob: BlobReference) async throws -> [UInt8] {
        let content: [UInt8] = try await answer(to: .blob(blob)) {
            if case .blob(let content) = $0 { content } else { nil }
        }
        guard blob.stands(for: content) else {
            throw TandemError(.storage, "the daemon sent another content than \(blob)")
        }
        return content
    }
}

import TandemModel

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
    public func content(of blob: BlobReference) async throws -> [UInt8] {
        try await DaemonCalls(connection, .suspending).content(of: blob)
    }

    /// Returns a text that is too long for its row and that a snapshot or payload refers to.
    ///
    /// Errors and cost are those of ``content(of:)``.
    public func text(of text: TextReference) async throws -> String {
        String(decoding: try await content(of: text.blob), as: UTF8.self)
    }
}

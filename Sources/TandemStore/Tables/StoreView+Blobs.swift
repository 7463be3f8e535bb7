public import TandemModel

/// Contents of values that are too long for rows.
extension StoreView {
    /// Returns the content of a blob, or nil if the store doesn't have it.
    ///
    /// Cost: copies the content.
    public func content(of blob: BlobReference) throws(StoreError) -> [UInt8]? {
        try current.get(tables.blobs, blob.hash).map { Array($0) }
    }

    /// Whether the store has the content of a blob.
    public func holds(_ blob: BlobReference) throws(StoreError) -> Bool {
        try current.get(tables.blobUses, blob.hash) != nil
    }

    /// Whether the store has the content of a blob, with the length and the beginning of the
    /// reference.
    public func fits(_ blob: BlobReference) throws(StoreError) -> Bool {
        guard let content = try current.get(tables.blobs, blob.hash) else { return false }
        return blob.fits(content)
    }
}

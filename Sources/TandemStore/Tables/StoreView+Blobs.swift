public import TandemModel

/// Contents of values that are too long for rows.
extension StoreView {
    /// The content of a blob, or nil when the store has none.
    ///
    /// Cost: copies the content.
    public func content(of blob: BlobReference) throws(StoreError) -> [UInt8]? {
        try current.get(tables.blobs, blob.hash).map { Array($0) }
    }

    /// True when the store has the content.
    public func holds(_ blob: BlobReference) throws(StoreError) -> Bool {
        try current.get(tables.blobUses, blob.hash) != nil
    }

    /// True when the store has the content, and it is as long and begins as the reference says.
    public func fits(_ blob: BlobReference) throws(StoreError) -> Bool {
        guard let content = try current.get(tables.blobs, blob.hash) else { return false }
        return blob.fits(content)
    }
}

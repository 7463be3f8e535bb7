import TandemModel

/// A cache of the blobs that a context loaded most recently, limited by their total size in bytes.
struct BlobCache {
    private let limit: Int
    private var contents: [BlobReference: [UInt8]] = [:]
    /// The cached blobs, the oldest first.
    private var order: [BlobReference] = []
    private var bytes = 0

    init(limit: Int) { self.limit = limit }

    subscript(blob: BlobReference) -> [UInt8]? { contents[blob] }

    /// Adds the content of a blob, and removes the oldest blobs while the limit is exceeded.
    ///
    /// The newest blob stays even if it alone exceeds the limit.
    mutating func keep(_ content: [UInt8], _ blob: BlobReference) {
        guard contents.updateValue(content, forKey: blob) == nil else { return }
        order.append(blob)
        bytes += content.count
        while bytes > limit, order.count > 1 {
            bytes -= contents.removeValue(forKey: order.removeFirst())?.count ?? 0
        }
    }
}

/// What a transaction carries, cut into the chunks of its binary form.
struct EncodedContent {
    /// A chunk before it is encoded: its tag, and which of the changes are in it.
    struct Part {
        var tag: EntityTag
        var changes: Range<Int>
    }

    /// The chunks in their order.
    private(set) var parts: [Part] = []
    private var changes: [Change] = []
    private var model: [UInt8] = []
    private let blobs: [Blob]

    init(_ transaction: Transaction) {
        blobs = transaction.blobs
        switch transaction.content {
        case .model(let bytes):
            model = bytes
            parts.append(Part(tag: 0, changes: 0..<0))
        case .objects(let unsorted):
            changes = unsorted.isInOrder ? unsorted : unsorted.sorted(by: Change.isBefore)
            appendParts()
        }
        if !blobs.isEmpty {
            parts.append(Part(tag: EncodedTransaction.blobsTag, changes: 0..<0))
        }
    }

    private mutating func appendParts() {
        let changes = changes
        let span = changes.span
        var start = 0
        for index in span.indices {
            let isLast = index + 1 == span.count
            guard isLast || span[index + 1].object.tag != span[index].object.tag else { continue }
            parts.append(Part(tag: span[index].object.tag, changes: start..<(index + 1)))
            start = index + 1
        }
    }

    /// About how many bytes it takes, so that they are rarely moved.
    var expectedBytes: Int {
        96 * changes.count + model.count + blobs.reduce(0) { $0 + $1.content.count + 128 }
    }

    /// Appends a chunk.
    func encode(_ part: Part, into writer: inout ByteWriter) {
        switch part.tag {
        case 0: writer.raw(model)
        case EncodedTransaction.blobsTag:
            writer.count(blobs.count)
            for blob in blobs { blob.encode(into: &writer) }
        default:
            writer.count(part.changes.count)
            // Borrowed in place: a copy of a change costs a dozen reference counts.
            let span = changes.span
            for index in part.changes { span[index].encode(into: &writer) }
        }
    }
}

extension Change {
    /// The order in a transaction: by entity tag, then number.
    fileprivate static func isBefore(_ a: Change, _ b: Change) -> Bool {
        (a.object.tag, a.object.number) < (b.object.tag, b.object.number)
    }
}

extension [Change] {
    fileprivate var isInOrder: Bool {
        let span = span
        return span.indices.dropFirst().allSatisfy { index in
            let (last, object) = (span[index - 1].object, span[index].object)
            return (last.tag, last.number) <= (object.tag, object.number)
        }
    }
}

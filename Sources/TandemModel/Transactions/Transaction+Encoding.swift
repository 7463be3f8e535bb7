extension Transaction {
    /// Returns the binary form; if necessary, changes are first sorted by entity and number.
    ///
    /// Cost: one pass over the changes; rows are copied unchanged.
    package func encoded() -> EncodedTransaction {
        guard case .objects(let changes) = content, !changes.isInOrder else { return encode() }
        var sorted = self
        sorted.content = .objects(changes.sorted(by: Change.isBefore))
        return sorted.encode()
    }

    private func encode() -> EncodedTransaction {
        var writer = ByteWriter(capacity: 256 + expectedBytes)
        encodeHeader(into: &writer)
        let directoryOffset = writer.count
        var chunks = parts
        writer.count(chunks.count)
        let directory = writer.count
        for chunk in chunks {
            writer.uint16(chunk.tag)
            writer.uint32(0)
        }
        writer.set(UInt32(writer.count), at: 0)
        for index in chunks.indices {
            let start = writer.count
            encode(chunks[index], into: &writer)
            chunks[index].range = start..<writer.count
            writer.set(UInt32(writer.count - start), at: directory + 6 * index + 2)
        }
        return EncodedTransaction(
            bytes: writer.bytes, chunks: chunks, directoryOffset: directoryOffset)
    }

    private func encodeHeader(into writer: inout ByteWriter) {
        writer.uint32(0)
        writer.uint8(format)
        if case .model = content { writer.uint8(1) } else { writer.uint8(0) }
        writer.uint64(position)
        writer.int64(time)
        encodePrincipal(into: &writer)
        writer.blob(saveID)
        writer.uint64(contentHash.first)
        writer.uint64(contentHash.second)
        if format == 1 { return }
        writer.count(exceptions.count)
        for exception in exceptions { exception.encode(into: &writer) }
        batch?.encode(into: &writer)
    }

    /// The lowest format that is sufficient for the transaction.
    private var format: UInt8 { batch != nil ? 3 : exceptions.isEmpty ? 1 : 2 }

    private func encodePrincipal(into writer: inout ByteWriter) {
        writer.uint32(principal.uid)
        writer.uint32(principal.gid)
        writer.uint32(principal.pid)
        writer.string(principal.author)
        writer.string(principal.context)
        writer.string(principal.host)
        writer.string(principal.unit)
    }

    // MARK: Chunks

    /// The chunks in order, before encoding; their ranges count changes, not bytes.
    private var parts: [EncodedTransaction.Chunk] {
        var parts: [EncodedTransaction.Chunk] = []
        switch content {
        case .model: parts.append(EncodedTransaction.Chunk(tag: 0, range: 0..<0))
        case .objects(let changes): changes.appendParts(to: &parts)
        }
        if !blobs.isEmpty {
            parts.append(EncodedTransaction.Chunk(tag: EncodedTransaction.blobsTag, range: 0..<0))
        }
        return parts
    }

    private func encode(_ part: EncodedTransaction.Chunk, into writer: inout ByteWriter) {
        switch content {
        case _ where part.tag == EncodedTransaction.blobsTag:
            writer.count(blobs.count)
            for blob in blobs { blob.encode(into: &writer) }
        case .model(let bytes): writer.raw(bytes)
        case .objects(let changes):
            writer.count(part.range.count)
            // Changes are borrowed, because copying one updates a dozen reference counts.
            let span = changes.span
            for index in part.range { span[index].encode(into: &writer) }
        }
    }

    /// An estimate of the encoded size, so that the buffer is rarely reallocated.
    private var expectedBytes: Int {
        let blobBytes = blobs.reduce(0) { $0 + $1.content.count + 128 }
        switch content {
        case .model(let bytes): return bytes.count + blobBytes
        case .objects(let changes): return 128 * changes.count + blobBytes
        }
    }
}

extension Change {
    /// Returns whether `a` comes before `b` in a transaction: by entity tag, then number.
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

    /// Appends a chunk for each entity.
    fileprivate func appendParts(to parts: inout [EncodedTransaction.Chunk]) {
        let span = span
        var start = 0
        for index in span.indices {
            let isLast = index + 1 == span.count
            guard isLast || span[index + 1].object.tag != span[index].object.tag else { continue }
            parts.append(
                EncodedTransaction.Chunk(tag: span[index].object.tag, range: start..<(index + 1)))
            start = index + 1
        }
    }
}

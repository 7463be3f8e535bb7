package import TandemModel
package import TandemQuery

/// A chunk of an answer: the next objects of an earlier ``FetchAnswer``, in its order.
///
/// A large answer is sent as several messages, with other messages in between. The client can
/// process the objects that have arrived while the daemon is preparing the rest. No other request
/// waits for more than one chunk.
package struct FetchedChunk: WireCodable {
    /// The next objects, for ``Fetch/Kind/rows`` and a small ``Fetch/Kind/list``.
    package var objects: StoredObjects
    /// The next references, for ``Fetch/Kind/references``.
    package var references: [ObjectReference]
    /// The next rows of values, for ``Fetch/Kind/columns``.
    package var values: [[PropertyValue]]
    /// The placements of the next objects, for ``Fetch/Kind/list``; the ``FetchAnswer`` has the
    /// section names and the reached objects.
    package var places: ListPlacements?
    /// Whether more chunks follow.
    package var hasMore: Bool

    /// Creates a chunk with the given content.
    package init(
        objects: StoredObjects = [], references: [ObjectReference] = [],
        values: [[PropertyValue]] = [],
        places: ListPlacements? = nil, hasMore: Bool
    ) {
        self.objects = objects
        self.references = references
        self.values = values
        self.places = places
        self.hasMore = hasMore
    }

    /// The number of objects, references or rows in the chunk.
    package var count: Int {
        objects.count + references.count + values.count + (places?.count ?? 0)
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        objects.encode(into: &writer)
        writer.references(references)
        writer.rows(values)
        writer.optional(places) { $1.encodeChunk(into: &$0) }
        writer.bool(hasMore)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        objects = try StoredObjects(from: &reader)
        references = try reader.references()
        values = try reader.rows()
        places = try reader.optional { reader throws(CodingError) in
            try ListPlacements(chunkFrom: &reader)
        }
        hasMore = try reader.bool()
    }
}

extension FetchAnswer {
    /// The number of objects, references or rows in this message; an answer has only one of these
    /// kinds.
    package var bodyCount: Int {
        max(objects.count, references.count, values.count, places?.count ?? 0)
    }

    /// Returns the head of the chunked answer, without the objects.
    func chunkedHead() -> FetchAnswer {
        var head = self
        (head.objects, head.references, head.values) = ([], [], [])
        head.places = places.map {
            ListPlacements(sections: $0.sections, reached: $0.reached, hopCount: $0.hopCount)
        }
        head.hasMore = true
        return head
    }
}

extension ByteWriter {
    /// Writes rows of values.
    mutating func rows(_ rows: [[PropertyValue]]) {
        list(rows) { writer, row in
            writer.list(row) { $1.encode(into: &$0) }
        }
    }
}

extension ByteReader {
    /// Reads rows of values.
    mutating func rows() throws(CodingError) -> [[PropertyValue]] {
        try list(itemBytes: 1) { reader throws(CodingError) in
            try reader.list(itemBytes: 1, limit: FetchColumns.maximumColumns) {
                reader throws(CodingError) in
                try PropertyValue(from: &reader)
            }
        }
    }
}

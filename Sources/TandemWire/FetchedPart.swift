public import TandemModel
public import TandemQuery

/// What belongs to a ``Fetched`` that came before, of which it is a part: the next of its objects, in its order.
///
/// A large answer comes so, one message behind the other with others between them: who asked can work on what is there while the rest
/// is made, and nobody waits for more than a part of it to be made.
public struct FetchedPart: WireCodable {
    /// The next objects, for ``Fetch/Kind/rows`` and a small ``Fetch/Kind/list``.
    public var objects: StoredObjects
    /// The next references, for ``Fetch/Kind/references``.
    public var references: [ObjectReference]
    /// The next rows of values, for ``Fetch/Kind/columns``.
    public var values: [[Value]]
    /// Where the next objects stand, for ``Fetch/Kind/list``; the names of sections and what is reached came with the ``Fetched``.
    public var places: ListPlaces?
    /// Whether more parts follow.
    public var hasMore: Bool

    /// A part of the given content.
    public init(
        objects: StoredObjects = [], references: [ObjectReference] = [], values: [[Value]] = [],
        places: ListPlaces? = nil, hasMore: Bool
    ) {
        self.objects = objects
        self.references = references
        self.values = values
        self.places = places
        self.hasMore = hasMore
    }

    /// How many objects, references or rows it has.
    public var count: Int {
        objects.count + references.count + values.count + (places?.count ?? 0)
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        objects.encode(into: &writer)
        writer.references(references)
        writer.rows(values)
        writer.optional(places) { $1.encodePart(into: &$0) }
        writer.bool(hasMore)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        objects = try StoredObjects(from: &reader)
        references = try reader.references()
        values = try reader.rows()
        places = try reader.optional { reader throws(CodingError) in
            try ListPlaces(partFrom: &reader)
        }
        hasMore = try reader.bool()
    }
}

extension Fetched {
    /// Adds a part behind what is there; false, and nothing is added, for one that does not belong to it.
    ///
    /// That is one without objects, one that names what the answer does not have, and one with which it would have more objects than it
    /// says, or fewer at the end.
    public mutating func append(_ part: FetchedPart) -> Bool {
        let total = UInt64(bodyCount + part.count)
        guard part.count > 0 else { return false }
        guard part.hasMore ? total < count : total == count else { return false }
        if let more = part.places {
            guard places?.append(more) ?? false else { return false }
        }
        objects.append(part.objects)
        references += part.references
        values += part.values
        hasMore = part.hasMore
        return true
    }

    /// How many objects, references or rows it has here; of these kinds it has one.
    public var bodyCount: Int {
        max(objects.count, references.count, values.count, places?.count ?? 0)
    }

    /// The same without what comes in parts.
    func headOfParts() -> Fetched {
        var head = self
        (head.objects, head.references, head.values) = ([], [], [])
        head.places = places.map {
            ListPlaces(sections: $0.sections, reached: $0.reached, hops: $0.hops)
        }
        head.hasMore = true
        return head
    }
}

extension ByteWriter {
    /// Rows of values.
    mutating func rows(_ rows: [[Value]]) {
        list(rows) { writer, row in
            writer.list(row) { $1.encode(into: &$0) }
        }
    }
}

extension ByteReader {
    /// Rows of values.
    mutating func rows() throws(CodingError) -> [[Value]] {
        try list(itemBytes: 1) { reader throws(CodingError) in
            try reader.list(itemBytes: 1, limit: FetchColumns.maximumColumns) {
                reader throws(CodingError) in
                try Value(from: &reader)
            }
        }
    }
}

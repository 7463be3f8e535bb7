public import TandemModel
package import TandemQuery

/// A request for the objects that match a fetch request.
package struct Fetch: WireCodable {
    /// The data to return for the objects.
    package enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// Rows and versions.
        case rows
        /// References only.
        case references
        /// The number of objects only.
        case count
        /// Values of some properties, or aggregates over groups.
        case columns
        /// The rows, or the objects' placements if there are many; used to open a list.
        case list
    }

    /// The request.
    package var request: FetchDescriptor
    /// The data to return for the objects.
    package var kind: Kind
    /// The to-one key paths whose target objects are returned too, as rows.
    package var related: [[String]]
    /// The entities added to the session's interests at or below the answer's position.
    package var interests: [EntityTag]
    /// The position at which to read; 0 means the journal's tail.
    package var at: UInt64
    /// The number of the pin that keeps the position readable; 0 for none.
    ///
    /// After the pin has ended, the daemon answers `historyExpired`, even if the journal still has
    /// the position.
    package var lease: UInt32
    /// The values to return; set only for ``Kind/columns``.
    package let columns: FetchColumns?
    /// The details of the list; set only for ``Kind/list``.
    package let list: ListDetails?

    /// Creates a fetch; `columns` or `list` determine its kind if they are set.
    package init(
        request: FetchDescriptor, kind: Kind = .rows, related: [[String]] = [],
        interests: [EntityTag] = [], at: UInt64 = 0,
        lease: UInt32 = 0, columns: FetchColumns? = nil, list: ListDetails? = nil
    ) {
        self.request = request
        self.kind = columns != nil ? .columns : list != nil ? .list : kind
        self.columns = columns
        self.list = columns == nil ? list : nil
        self.related = related
        self.interests = interests
        self.at = at
        self.lease = lease
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        request.encode(into: &writer)
        writer.uint8(kind.rawValue)
        writer.list(related) { $0.names($1) }
        writer.tags(interests)
        writer.uint64(at)
        writer.uint32(lease)
        writer.optional(columns) { $1.encode(into: &$0) }
        writer.optional(list) { $1.encode(into: &$0) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        request = try FetchDescriptor(from: &reader)
        let start = reader.offset
        guard let kind = Kind(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "a kind of fetch", offset: start)
        }
        self.kind = kind
        related = try reader.list(itemBytes: 1, limit: WireLimits.names) {
            reader throws(CodingError) in
            try reader.names(limit: WireLimits.keyPathHops)
        }
        interests = try reader.tags()
        at = try reader.uint64()
        lease = try reader.uint32()
        let columnsStart = reader.offset
        columns = try reader.optional { reader throws(CodingError) in
            try FetchColumns(from: &reader)
        }
        guard (columns != nil) == (kind == .columns) else {
            throw CodingError(
                expected: "columns if and only if the kind is columns", offset: columnsStart)
        }
        let listStart = reader.offset
        list = try reader.optional { reader throws(CodingError) in
            try ListDetails(from: &reader)
        }
        guard (list != nil) == (kind == .list) else {
            throw CodingError(
                expected: "list details if and only if the kind is list", offset: listStart)
        }
    }
}

extension StoredObject: WireCodable {}

extension StoredObjects: WireCodable {}

/// The answer to ``Fetch``.
package struct FetchAnswer: WireCodable {
    /// The position at which the objects were read.
    package var position: UInt64
    /// The number of objects of the answer, including those in later chunks; for
    /// ``Fetch/Kind/count``, the number of matches.
    package var count: UInt64
    /// The objects in the request's order, for ``Fetch/Kind/rows`` and a small ``Fetch/Kind/list``.
    package var objects: StoredObjects
    /// The objects in the request's order, for ``Fetch/Kind/references``.
    package var references: [ObjectReference]
    /// The objects reached by the `related` key paths, without duplicates.
    package var related: [StoredObject]
    /// The rows of values in order, for ``Fetch/Kind/columns``; each row has a value per column.
    package var values: [[PropertyValue]]
    /// The placements of the objects, for a ``Fetch/Kind/list`` of more than
    /// `ListDetails.rowsUpTo` objects.
    package var places: ListPlacements?
    /// Whether the objects follow in chunks (``FetchedChunk``); the answer itself then contains
    /// none.
    package var hasMore: Bool

    /// Creates an answer with the given content.
    package init(
        position: UInt64, count: UInt64, objects: StoredObjects = [],
        references: [ObjectReference] = [], related: [StoredObject] = [],
        values: [[PropertyValue]] = [],
        places: ListPlacements? = nil, hasMore: Bool = false
    ) {
        self.position = position
        self.count = count
        self.objects = objects
        self.references = references
        self.related = related
        self.values = values
        self.places = places
        self.hasMore = hasMore
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.uint64(count)
        objects.encode(into: &writer)
        writer.references(references)
        writer.list(related)
        writer.rows(values)
        writer.optional(places) { $1.encode(into: &$0) }
        writer.bool(hasMore)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        count = try reader.uint64()
        objects = try StoredObjects(from: &reader)
        references = try reader.references()
        related = try reader.list(of: StoredObject.self, itemBytes: StoredObject.minimumBytes)
        values = try reader.rows()
        places = try reader.optional { reader throws(CodingError) in
            try ListPlacements(from: &reader)
        }
        hasMore = try reader.bool()
    }
}

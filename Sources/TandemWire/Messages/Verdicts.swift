package import TandemModel
package import TandemQuery

/// A request for the effect that the transactions since a position have on lists that the client
/// can't evaluate itself.
package struct VerdictRequest: WireCodable {
    /// The position up to which the client has merged.
    package var from: UInt64
    /// The lists, at most ``WireLimits/verdictItems``.
    package var items: [VerdictItem]
    /// The read to answer at the same position.
    package var alongside: PiggybackedRead?
    /// The position to which the client moves, forward or back; 0 means the journal's tail.
    ///
    /// A piggybacked read is allowed only with 0.
    package var at: UInt64

    /// Creates a request for verdicts on lists that are merged up to `from`.
    package init(
        from: UInt64, items: [VerdictItem], alongside: PiggybackedRead? = nil, at: UInt64 = 0
    ) {
        self.from = from
        self.items = items
        self.alongside = alongside
        self.at = at
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(from)
        writer.list(items)
        writer.optional(alongside) { $1.encode(into: &$0) }
        writer.uint64(at)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        from = try reader.uint64()
        items = try reader.list(
            of: VerdictItem.self, itemBytes: 3, limit: WireLimits.verdictItems)
        alongside = try reader.optional { reader throws(CodingError) in
            try PiggybackedRead(from: &reader)
        }
        at = try reader.uint64()
    }
}

/// A list for which verdicts are requested.
package struct VerdictItem: WireCodable {
    /// The fetch request of the list.
    package var request: FetchDescriptor
    /// The key path of its section names.
    package var sectionKeyPath: String?
    /// The key paths whose values refresh a row.
    package var refreshKeyPaths: [String]

    /// Creates an item with the given content.
    package init(
        request: FetchDescriptor, sectionKeyPath: String? = nil, refreshKeyPaths: [String] = []
    ) {
        self.request = request
        self.sectionKeyPath = sectionKeyPath
        self.refreshKeyPaths = refreshKeyPaths
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        request.encode(into: &writer)
        writer.optional(sectionKeyPath) { $0.string($1) }
        writer.names(refreshKeyPaths)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        request = try FetchDescriptor(from: &reader)
        sectionKeyPath = try reader.optionalString()
        refreshKeyPaths = try reader.names()
    }
}

/// The answer to ``VerdictRequest``.
package struct Verdicts: WireCodable {
    /// The position of the verdicts; every transaction of interest up to it has been pushed before.
    package var position: UInt64
    /// The verdicts on every candidate, for each list of the request.
    package var items: [[Verdict]]
    /// The objects reached by to-one paths of the sort order, section and predicate from matching
    /// objects.
    package var related: [StoredObject]
    /// The answer to the piggybacked read, if there was one.
    package var alongside: PiggybackedAnswer?

    /// Creates an answer with the given content.
    package init(
        position: UInt64, items: [[Verdict]], related: [StoredObject] = [],
        alongside: PiggybackedAnswer? = nil
    ) {
        self.position = position
        self.items = items
        self.related = related
        self.alongside = alongside
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.list(items) { $0.list($1) }
        writer.list(related)
        writer.optional(alongside) { $1.encode(into: &$0) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        items = try reader.list(itemBytes: 1, limit: WireLimits.verdictItems) {
            reader throws(CodingError) in
            try reader.list(of: Verdict.self, itemBytes: 21)
        }
        related = try reader.list(of: StoredObject.self, itemBytes: StoredObject.minimumBytes)
        alongside = try reader.optional { reader throws(CodingError) in
            try PiggybackedAnswer(from: &reader)
        }
    }
}

/// The state of one candidate for a list.
package struct Verdict: WireCodable {
    /// The candidate.
    package var object: ObjectReference
    /// Whether the candidate is now in the list.
    package var matches: Bool
    /// Whether values at refresh key paths have changed since the request's position.
    package var refreshed: Bool
    /// The row's version; 0 if the object was deleted.
    package var version: UInt64
    /// The row; nil if the object was deleted.
    package var row: Row?

    /// Creates a verdict on `object`.
    package init(
        object: ObjectReference, matches: Bool, refreshed: Bool = false, version: UInt64,
        row: Row?
    ) {
        self.object = object
        self.matches = matches
        self.refreshed = refreshed
        self.version = version
        self.row = row
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.reference(object)
        writer.bool(matches)
        writer.bool(refreshed)
        writer.uint64(version)
        writer.optional(row) { $0.row($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        object = try reader.reference()
        matches = try reader.bool()
        refreshed = try reader.bool()
        version = try reader.uint64()
        row = try reader.optionalRow()
    }
}

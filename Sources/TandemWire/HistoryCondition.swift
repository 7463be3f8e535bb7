public import TandemModel
public import TandemQuery

/// Which transactions of a history are wanted, apart from their entities; a transaction has to meet every part.
///
/// A model that was installed always comes along, for what follows means nothing without it.
public struct HistoryCondition: WireCodable {
    /// Saved by one of these; empty is by anybody.
    public var authors: [String]
    /// Changing one of these, at most ``WireLimits/historyObjects``; empty is any object.
    public var objects: [ObjectReference]
    /// Changing, inserting or deleting a value of one of these, at most ``WireLimits/names``; empty is any property.
    public var properties: [ObservedProperty]
    /// The version of the model whose slots `properties` are of; without any it does not matter.
    public var modelVersion: UInt16
    /// Not saved before this time, in microseconds since 1970.
    public var since: Int64?
    /// Saved before this time, in microseconds since 1970.
    public var until: Int64?

    /// A condition of the given parts; without any it is always met.
    public init(
        authors: [String] = [], objects: [ObjectReference] = [],
        properties: [ObservedProperty] = [], modelVersion: UInt16 = 0, since: Int64? = nil,
        until: Int64? = nil
    ) {
        self.authors = authors
        self.objects = objects
        self.properties = properties
        self.modelVersion = modelVersion
        self.since = since
        self.until = until
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.names(authors)
        writer.references(objects)
        writer.list(properties) { writer, property in
            writer.uint16(property.entity)
            writer.count(property.slot)
        }
        writer.uint16(modelVersion)
        writer.optional(since) { $0.int64($1) }
        writer.optional(until) { $0.int64($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        authors = try reader.names()
        objects = try reader.references(limit: WireLimits.historyObjects)
        properties = try reader.list(itemBytes: 3, limit: WireLimits.names) {
            reader throws(CodingError) in
            ObservedProperty(entity: try reader.uint16(), slot: try reader.slot())
        }
        modelVersion = try reader.uint16()
        since = try reader.optional { reader throws(CodingError) in try reader.int64() }
        until = try reader.optional { reader throws(CodingError) in try reader.int64() }
    }
}

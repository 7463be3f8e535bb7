package import TandemModel
package import TandemQuery

/// A filter for the transactions of a history, in addition to the one by entity; a transaction must
/// satisfy every part.
///
/// Installed models are always included, because later transactions can't be interpreted without
/// them.
package struct HistoryCondition: WireCodable {
    /// The authors whose transactions match; empty for any author.
    package var authors: [String]
    /// The objects, at most ``WireLimits/historyObjects``; empty for any object.
    ///
    /// A matching transaction changes at least one of them.
    package var objects: [ObjectReference]
    /// The properties, at most ``WireLimits/names``; empty for any property.
    ///
    /// A matching transaction sets, changes or deletes at least one of them.
    package var properties: [ObservedProperty]
    /// The version of the model to which the slots of `properties` belong; ignored without
    /// properties.
    package var modelVersion: UInt16
    /// The earliest time of the save, in microseconds since 1970.
    package var since: Int64?
    /// The exclusive end of the time range, in microseconds since 1970.
    package var until: Int64?
    /// Whether only installed models are requested; otherwise they are returned along with the
    /// matching transactions.
    package var isOfModels: Bool

    /// Creates a condition from its parts; a condition without parts is always satisfied.
    package init(
        authors: [String] = [], objects: [ObjectReference] = [],
        properties: [ObservedProperty] = [], modelVersion: UInt16 = 0, since: Int64? = nil,
        until: Int64? = nil, isOfModels: Bool = false
    ) {
        self.authors = authors
        self.objects = objects
        self.properties = properties
        self.modelVersion = modelVersion
        self.since = since
        self.until = until
        self.isOfModels = isOfModels
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.names(authors)
        writer.references(objects)
        writer.list(properties) { writer, property in
            writer.uint16(property.entity)
            writer.count(property.slot)
        }
        writer.uint16(modelVersion)
        writer.optional(since) { $0.int64($1) }
        writer.optional(until) { $0.int64($1) }
        writer.bool(isOfModels)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        authors = try reader.names()
        objects = try reader.references(limit: WireLimits.historyObjects)
        properties = try reader.list(itemBytes: 3, limit: WireLimits.names) {
            reader throws(CodingError) in
            ObservedProperty(entity: try reader.uint16(), slot: try reader.slot())
        }
        modelVersion = try reader.uint16()
        since = try reader.optional { reader throws(CodingError) in try reader.int64() }
        until = try reader.optional { reader throws(CodingError) in try reader.int64() }
        isOfModels = try reader.bool()
    }
}

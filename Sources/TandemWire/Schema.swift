public import TandemModel

/// Reads the store's model, or installs another one.
public struct SchemaRequest: WireCodable {
    /// The model to install, as JSON; nil reads.
    public var model: String?

    /// A request to install `model`, or to read.
    public init(model: String? = nil) { self.model = model }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) { writer.optional(model) { $0.string($1) } }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        model = try reader.optionalString()
    }
}

/// The answer to ``SchemaRequest``: the model that is now in force.
public struct SchemaAnswer: WireCodable {
    /// The position at which it is in force.
    public var position: UInt64
    /// The model in `CompiledModel`'s binary form; nil when the store has none.
    public var model: [UInt8]?

    /// The `model` in force at `position`.
    public init(position: UInt64, model: [UInt8]?) {
        self.position = position
        self.model = model
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.optional(model) { $0.blob($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        model = try reader.optionalBlob()
    }
}

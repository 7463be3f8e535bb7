public import TandemModel

/// Reads the store's model, or installs another one.
public struct SchemaRequest: WireCodable {
    /// What is to be done with a model.
    public enum Purpose: UInt8, Hashable, Sendable, CaseIterable {
        /// It is installed if everything in it is there already or an addition.
        case apply
        /// What migrating to it would do is told.
        case preview
        /// It is installed whatever that costs, if what is stored keeps its rules.
        case migrate
    }

    /// The model, as JSON; nil reads.
    public var model: String?
    /// What is to be done with it.
    public var purpose: Purpose

    /// A request to install `model`, or to read.
    public init(model: String? = nil, purpose: Purpose = .apply) {
        self.model = model
        self.purpose = purpose
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.optional(model) { $0.string($1) }
        writer.uint8(purpose.rawValue)
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        model = try reader.optionalString()
        let start = reader.offset
        guard let purpose = Purpose(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "a purpose of a model", offset: start)
        }
        self.purpose = purpose
    }
}

/// The answer to ``SchemaRequest``: the model that is now in force.
public struct SchemaAnswer: WireCodable {
    /// The position at which it is in force.
    public var position: UInt64
    /// The model in `CompiledModel`'s binary form; nil when the store has none.
    public var model: [UInt8]?
    /// What migrating does or did, a `MigrationReport` as JSON; nil where that was not asked.
    public var report: String?

    /// The `model` in force at `position`.
    public init(position: UInt64, model: [UInt8]?, report: String? = nil) {
        self.position = position
        self.model = model
        self.report = report
    }

    /// Appends the binary form.
    public func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.optional(model) { $0.blob($1) }
        writer.optional(report) { $0.string($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    public init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        model = try reader.optionalBlob()
        report = try reader.optionalString()
    }
}

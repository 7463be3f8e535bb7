package import TandemModel

/// A request to read the store's model, or to install another one.
package struct SchemaRequest: WireCodable {
    /// The purpose of sending a model.
    package enum Purpose: UInt8, Hashable, Sendable, CaseIterable {
        /// The model is installed if it differs from the current one only by additions.
        case apply
        /// The effect of a migration to the model is reported.
        case preview
        /// The model is installed even if data is lost, provided that the stored data satisfies its
        /// rules.
        case migrate
    }

    /// The model as JSON; nil to read the current one.
    package var model: String?
    /// The purpose of sending the model.
    package var purpose: Purpose

    /// Creates a request to install `model`, or to read the current one.
    package init(model: String? = nil, purpose: Purpose = .apply) {
        self.model = model
        self.purpose = purpose
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.optional(model) { $0.string($1) }
        writer.uint8(purpose.rawValue)
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        model = try reader.optionalString()
        let start = reader.offset
        guard let purpose = Purpose(rawValue: try reader.uint8()) else {
            throw CodingError(expected: "the purpose of a model", offset: start)
        }
        self.purpose = purpose
    }
}

/// The answer to ``SchemaRequest``: the current model.
package struct SchemaAnswer: WireCodable {
    /// The position at which the model is in force.
    package var position: UInt64
    /// The model in `CompiledModel`'s binary form; nil if the store has none.
    package var model: [UInt8]?
    /// The planned or completed migration, a `MigrationReport` as JSON; nil if it was not
    /// requested.
    package var report: String?

    /// Creates an answer with the `model` in force at `position`.
    package init(position: UInt64, model: [UInt8]?, report: String? = nil) {
        self.position = position
        self.model = model
        self.report = report
    }

    /// Appends the binary form.
    package func encode(into writer: inout ByteWriter) {
        writer.uint64(position)
        writer.optional(model) { $0.blob($1) }
        writer.optional(report) { $0.string($1) }
    }

    /// Reads the binary form or throws `CodingError`.
    package init(from reader: inout ByteReader) throws(CodingError) {
        position = try reader.uint64()
        model = try reader.optionalBlob()
        report = try reader.optionalString()
    }
}

/// The content of a transaction that installs a model: the model, its origin, and the differences
/// from the previous one.
package struct ModelInstallation: Sendable {
    /// The compiled model.
    package var model: CompiledModel
    /// The hash of the model that an app declared, if the installed model has further declarations.
    package var declared: StableHash?
    /// The differences from the previous model, for readers of the journal.
    package var differences: [ModelDifference] = []

    /// Creates the installation of a model for an app that declared all or part of it.
    package init(
        _ model: CompiledModel, declared: StableHash? = nil, differences: [ModelDifference] = []
    ) {
        self.model = model
        self.declared = declared == model.hash ? nil : declared
        self.differences = differences
    }

    /// The binary form.
    package var bytes: [UInt8] {
        var writer = ByteWriter()
        model.encode(into: &writer)
        guard declared != nil || !differences.isEmpty else { return writer.bytes }
        writer.bool(declared != nil)
        if let declared {
            writer.uint64(declared.first)
            writer.uint64(declared.second)
        }
        writer.string(JSON.array(differences.map(\.json)).text)
        return writer.bytes
    }

    /// Reads the binary form.
    ///
    /// Throws ``CodingError``.
    package init(_ bytes: [UInt8]) throws(CodingError) {
        var reader = ByteReader(bytes)
        model = try CompiledModel(from: &reader)
        guard !reader.isAtEnd else { return }
        if try reader.bool() {
            declared = StableHash(first: try reader.uint64(), second: try reader.uint64())
        }
        let list = try? JSON(parsing: try reader.string())
        differences = list?.array?.compactMap { ModelDifference(json: $0) } ?? []
    }
}

public import TandemModel
import TandemWire

/// Changing the store's model beyond the changes that an app may make by itself.
extension PersistentContainer {
    /// Returns the effects that a migration to a model would have, without changing anything;
    /// blocks.
    ///
    /// Throws `usage` if the model is invalid. The daemon reads the affected objects, and serves no
    /// other client meanwhile.
    public func preview(of model: Model) throws -> MigrationReport {
        try ask(model, .preview).report
    }

    /// Migrates the store to a model, in one transaction; blocks.
    ///
    /// Data of entities and properties that the model lacks is lost, and so are values that can't
    /// be converted; check ``preview(of:)`` first. Apps whose model has a removed entity or
    /// property are disconnected with `schemaMismatch`.
    ///
    /// Throws one of these errors, after which nothing was changed:
    ///
    /// - `validation` with the objects that violate a rule of the model,
    /// - `schemaMismatch` if the change needs several steps,
    /// - `denied` if the user is not an administrator,
    /// - `readOnly` if there is no space to rewrite all rows.
    ///
    /// - Returns: The position of the migration's transaction, and its effects.
    @discardableResult
    public func migrate(to model: Model) throws -> (position: Position, report: MigrationReport) {
        let (answer, report) = try ask(model, .migrate)
        return (try connection.session().position(answer.position), report)
    }

    private func ask(
        _ model: Model, _ purpose: SchemaRequest.Purpose
    ) throws -> (answer: SchemaAnswer, report: MigrationReport) {
        let request = SchemaRequest(model: model.json.text, purpose: purpose)
        guard case .schema(let answer) = try connection.answer(.schema(request)).get(),
            let report = try answer.report.flatMap({ MigrationReport(json: try JSON(parsing: $0)) })
        else { throw TandemError.unexpectedAnswer("its model") }
        return (answer, report)
    }
}

public import TandemModel
import TandemWire

/// Changing the store's model beyond what an app may do by itself.
extension PersistentContainer {
    /// What migrating the store to a model would do to what is stored; nothing is changed; blocks.
    ///
    /// Throws `usage` for a model that can't be used. Cost: the daemon reads what is concerned, and nobody else is served meanwhile.
    public func preview(of model: Model) throws -> MigrationReport {
        try ask(model, .preview).report
    }

    /// Migrates the store to a model, in one transaction; blocks.
    ///
    /// What the model does not have any more is lost, and so are values that can't be converted: look at ``preview(of:)`` first.
    /// Apps whose model has something that is gone are disconnected with `schemaMismatch`.
    /// Throws `validation` naming objects that break a rule of the model, `schemaMismatch` for what can't be done in one step, `denied` to who is no
    /// admin, `readOnly` without room to write all rows anew; then nothing was changed.
    /// - Returns: The position of that transaction, and what it did.
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
        else { throw TandemError(.storage, "the daemon did not answer about its model") }
        return (answer, report)
    }
}

public import TandemModel
import TandemQuery
package import TandemWire

/// Reads and administration of the store as a whole.
extension PersistentContainer {
    /// Returns the content of a blob that a snapshot or payload refers to.
    ///
    /// Throws `unknownObject` if no object has the content any more and the journal does not reach
    /// back to one that had it. Throws `disconnected` without a connection. Cost: the transfer and
    /// a SHA-256.
    ///
    ///     if case .blob(let blob) = object.snapshot["scan"] {
    ///         show(try await container.content(of: blob))
    ///     }
    ///
    /// The content of a long text is its UTF-8; ``text(of:)`` decodes it.
    public func content(of blob: BlobReference) async throws -> [UInt8] {
        try await DaemonCalls(connection, .suspending).content(of: blob)
    }

    /// Returns a text that is too long for its row and that a snapshot or payload refers to.
    ///
    /// Errors and cost are those of ``content(of:)``.
    public func text(of text: TextReference) async throws -> String {
        String(decoding: try await content(of: text.blob), as: UTF8.self)
    }

    /// Carries out a fetch in the daemon, and returns its plan and the amount of data read; blocks.
    ///
    ///     let request = FetchRequest(Team.self, sort: [.descending(\.wins)], limit: 3)
    ///     let found = try container.explain(request)
    ///     found.steps.first?.properties       // the index
    ///
    /// No object is sent to the client, and pending edits are ignored. The plan depends on the
    /// objects in the store, so it may change as they do.
    ///
    /// - Parameters:
    ///   - request: The fetch.
    ///   - isCount: Whether to explain a count instead of a fetch of rows.
    ///   - position: A position of the journal to read at instead of now.
    /// - Returns: The plan and the amount of data read.
    /// - Throws: The errors of a fetch.
    public func explain<Object: ManagedObject>(
        _ request: FetchRequest<Object>, isCount: Bool = false, at position: UInt64? = nil
    ) throws -> FetchExplanation {
        let fetch = Fetch(
            request: try request.descriptor, kind: isCount ? .count : .rows, at: position ?? 0)
        guard case .explained(let answer) = try connection.answer(.explain(fetch)).get() else {
            throw TandemError.unexpectedAnswer("the plan of a fetch")
        }
        return FetchExplanation(
            position: answer.position, steps: answer.steps,
            rowsRead: Int(clamping: answer.rowsRead),
            keysRead: Int(clamping: answer.keysRead), returned: Int(clamping: answer.returned),
            output: answer.output, isAnsweredAtOnce: answer.atOnce)
    }

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

    /// Removes the oldest segments of the journal, or reports which would be removed; blocks.
    ///
    /// Repeat the call while the answer says that there is more. Throws `denied` if the user is not
    /// an administrator, except for a dry run.
    package func vacuum(_ request: VacuumRequest) throws -> VacuumAnswer {
        guard case .vacuumed(let answer) = try connection.answer(.vacuum(request)).get() else {
            throw TandemError.unexpectedAnswer("its journal")
        }
        return answer
    }
}

public import TandemModel
import TandemQuery
package import TandemWire

/// Reads and administration of the store as a whole.
///
/// Each operation is an async function of ``StoreCalls``, with blocking and async forms below.
extension PersistentContainer {
    /// Returns the content of a blob that a snapshot or payload refers to; blocks.
    ///
    /// Throws `unknownObject` if neither the store nor the journal has an object with the content
    /// any more. Throws `disconnected` if not connected. Cost: the transfer and a SHA-256 hash.
    ///
    ///     if case .blob(let blob) = object.snapshot["scan"] {
    ///         show(try await container.content(of: blob))
    ///     }
    ///
    /// The content of a long text is its UTF-8 encoding; ``text(of:)-(TextReference)`` decodes it.
    public func content(of blob: BlobReference) throws -> [UInt8] {
        try blocking { try await $0.content(of: blob) }
    }

    /// Returns the content of a blob that a snapshot or payload refers to.
    public func content(of blob: BlobReference) async throws -> [UInt8] {
        try await suspendingCalls.content(of: blob)
    }

    /// Returns a string too long for its row, like ``content(of:)-(BlobReference)``; blocks.
    public func text(of text: TextReference) throws -> String {
        String(decoding: try content(of: text.blob), as: UTF8.self)
    }

    /// Returns a string that is too long for its row.
    public func text(of text: TextReference) async throws -> String {
        String(decoding: try await content(of: text.blob), as: UTF8.self)
    }

    // MARK: Plans

    /// Carries out a fetch in the daemon, and returns its plan and the amount of data read; blocks.
    ///
    ///     let request = FetchRequest(Team.self, sort: [.descending(\.wins)], limit: 3)
    ///     print(try container.explain(request))       // includes `Team: index (wins), …`
    ///
    /// No object is sent to the client, and pending edits are ignored. The plan depends on the
    /// objects in the store, so it may change as they do.
    ///
    /// - Parameters:
    ///   - request: The fetch.
    ///   - isCount: Whether to explain a count instead of a fetch of rows.
    ///   - position: The position to read at, instead of the journal's end.
    /// - Returns: The plan and the amount of data read.
    /// - Throws: The errors of a fetch; `historyExpired` for a position of another log or epoch.
    public func explain<Object: ManagedObject>(
        _ request: FetchRequest<Object>, isCount: Bool = false, at position: Position? = nil
    ) throws -> FetchExplanation {
        let descriptor = try request.descriptor
        return try blocking { try await $0.explain(descriptor, isCount, position) }
    }

    /// Carries out a fetch in the daemon, and returns its plan and the amount of data read.
    public func explain<Object: ManagedObject>(
        _ request: FetchRequest<Object>, isCount: Bool = false, at position: Position? = nil
    ) async throws -> FetchExplanation {
        try await suspendingCalls.explain(try request.descriptor, isCount, position)
    }

    // MARK: The model

    /// Returns the daemon's current model of the store; blocks until connected.
    ///
    /// Throws `disconnected` if no daemon answers in time. Cost: none once connected.
    public func storeModel() throws -> ManagedObjectModel { try compiledModel().model }

    /// Returns the daemon's current model of the store, after waiting for a connection.
    public func storeModel() async throws -> ManagedObjectModel { try await compiledModel().model }

    /// Returns the store's model with its slots and tags; blocks until connected.
    package func compiledModel() throws -> CompiledModel {
        try blocking { try await $0.compiledModel() }
    }

    /// Returns the store's model with its slots and tags, after waiting for a connection.
    package func compiledModel() async throws -> CompiledModel {
        try await suspendingCalls.compiledModel()
    }

    /// Installs a model in an empty store, or migrates the store; blocks.
    ///
    /// Returns the transaction's position. Throws the errors of `migrate(to:)`.
    @discardableResult
    package func install(_ model: ManagedObjectModel) throws -> Position {
        try blocking { try await $0.install(model) }
    }

    /// Installs a model in an empty store, or migrates the store.
    @discardableResult
    package func install(_ model: ManagedObjectModel) async throws -> Position {
        try await suspendingCalls.install(model)
    }

    /// Returns the effects that a migration to a model would have, without changing anything;
    /// blocks.
    ///
    /// Throws `usage` if the model is invalid. The daemon reads the affected objects, and serves no
    /// other client meanwhile.
    public func preview(of model: ManagedObjectModel) throws -> MigrationReport {
        try blocking { try await $0.change(to: model, .preview).report }
    }

    /// Returns the effects that a migration to a model would have, without changing anything.
    public func preview(of model: ManagedObjectModel) async throws -> MigrationReport {
        try await suspendingCalls.change(to: model, .preview).report
    }

    /// Migrates the store to a model, in one transaction; blocks.
    ///
    /// Data of entities and properties that the model lacks is lost, and so are values that can't
    /// be converted; `preview(of:)` says whether the change `isPossible`, and how many values and
    /// objects would be `lost`. Apps whose model has a removed entity or property are disconnected
    /// with `schemaMismatch`.
    ///
    /// Changes nothing if it throws: `validation` with the objects that violate a rule of the
    /// model, `schemaMismatch` if the change needs several steps, `denied` if the user is not an
    /// administrator, and `readOnly` if there is no space to rewrite all rows.
    ///
    /// - Returns: The position of the migration's transaction, and its effects.
    @discardableResult
    public func migrate(to model: ManagedObjectModel) throws -> (
        position: Position, report: MigrationReport
    ) {
        try blocking { try await $0.change(to: model, .migrate) }
    }

    /// Migrates the store to a model, in one transaction.
    @discardableResult
    public func migrate(
        to model: ManagedObjectModel
    ) async throws -> (position: Position, report: MigrationReport) {
        try await suspendingCalls.change(to: model, .migrate)
    }

    // MARK: The daemon

    /// Returns the daemon's status as JSON text; blocks.
    public func status() throws -> String { try blocking { try await $0.status() } }

    /// Returns the daemon's status as JSON text.
    public func status() async throws -> String { try await suspendingCalls.status() }

    /// Ends another client's connection, given its `id` in the status; blocks.
    ///
    /// Returns false if there is no such client. Throws `denied` if the user is not an
    /// administrator.
    package func disconnect(client id: UInt64) throws -> Bool {
        try blocking { try await $0.disconnect(client: id) }
    }

    /// Ends another client's connection, given its `id` in the status.
    package func disconnect(client id: UInt64) async throws -> Bool {
        try await suspendingCalls.disconnect(client: id)
    }

    /// Cancels a request of another client, or all its requests if `request` is 0; blocks.
    ///
    /// Returns false if none is found. Throws `denied` if the user is not an administrator.
    package func cancel(request: UInt32, ofClient id: UInt64) throws -> Bool {
        try blocking { try await $0.cancel(request: request, ofClient: id) }
    }

    /// Makes the daemon reload its configuration; blocks until the new settings are in effect.
    ///
    /// Returns the keys whose values have changed, and the keys whose new values need a restart.
    /// Throws `denied` if the user is not an administrator, and `usage` with all errors of the
    /// configuration.
    package func reloadConfiguration() throws -> (changed: [String], needsRestart: [String]) {
        try blocking { try await $0.reloadConfiguration() }
    }

    /// Removes the oldest segments of the journal, or reports which ones it would remove; blocks.
    ///
    /// Repeat the call while the answer reports that there is more to remove. Throws `denied` if
    /// the user is not an administrator, except for a dry run.
    package func vacuum(_ request: VacuumRequest) throws -> VacuumAnswer {
        try blocking { try await $0.vacuum(request) }
    }

    /// Runs an operation in blocking form.
    func blocking<Output>(_ operation: (StoreCalls) async throws -> Output) throws -> Output {
        try CallingThreadExecutor.run {
            try await operation(StoreCalls(DaemonCalls(connection, .blocking)))
        }
    }

    /// The operations in async form.
    var suspendingCalls: StoreCalls { StoreCalls(DaemonCalls(connection, .suspending)) }
}

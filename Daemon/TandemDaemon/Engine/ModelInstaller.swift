import TandemModel
import TandemStore
import TandemWire

/// Changes of the store's model by apps and tools.
///
/// Before a change is planned, the engine flushes the batch being built. After the change, it
/// notifies the sessions.
final class ModelInstaller {
    private let committer: Committer
    private let admission: Admission
    private let notifier: ServiceNotifier
    /// Models that sessions declare and that differ from the store's model, by hash.
    private var declared: [StableHash: ManagedObjectModel] = [:]

    /// A model change that is durable.
    struct Change {
        /// The last position before the change.
        let before: UInt64
        /// Whether the store had no objects.
        let wasEmpty: Bool
    }

    init(_ committer: Committer, admission: Admission, notifier: ServiceNotifier) {
        (self.committer, self.admission, self.notifier) = (committer, admission, notifier)
    }

    /// Parses the JSON form of a model; throws `usage` if the text is invalid.
    func parsed(_ text: String) throws(TandemError) -> ManagedObjectModel {
        do {
            return try ManagedObjectModel(parsing: text)
        } catch {
            throw TandemError(.usage, error.description)
        }
    }

    // MARK: Whole models

    /// Throws `denied` if the session may not carry out a request about a whole model.
    func authorize(
        _ purpose: SchemaRequest.Purpose, of session: Session
    ) throws(TandemError) {
        switch purpose {
        case .apply: try admission.authorize(.writer, of: session, to: "install a model")
        case .preview: break
        case .migrate: try admission.authorize(.admin, of: session, to: "migrate the store")
        }
    }

    /// Applies, previews or migrates to a whole model.
    func carryOut(
        _ purpose: SchemaRequest.Purpose, _ model: ManagedObjectModel, _ session: Session
    ) throws -> (change: Change?, report: MigrationReport?) {
        assert(!committer.hasPending, "Saves are flushed before a model change is planned.")
        switch purpose {
        case .apply:
            let outcome = try ModelChange.plan(whole: model, store: committer.store)
            return (try install(outcome, session), nil)
        case .preview: return (nil, try preview(model).1)
        case .migrate:
            let (outcome, report) = try preview(model)
            try ModelChange.check(report)
            return (try install(outcome, session), report)
        }
    }

    private func preview(_ model: ManagedObjectModel) throws -> (
        ModelChange.Outcome, MigrationReport
    ) {
        try notifier.patiently { try ModelChange.preview(model, store: committer.store) }
    }

    // MARK: Declared models

    /// Records the model that an app declares in its hello; returns it unless the store has it.
    func declare(_ text: String, _ session: Session) throws(TandemError) -> ManagedObjectModel? {
        let hash = StableHash(Array(text.utf8))
        // Most apps declare the store's own model, which need not be parsed.
        if committer.store.model?.hash == hash {
            session.declare(model: hash)
            return nil
        }
        let model = try parsed(text)
        session.declare(model: model.hash)
        keep(model, model.hash)
        return model
    }

    /// Installs a declared model's additions to the store's model, if there are any.
    func install(declared model: ManagedObjectModel, of session: Session) throws -> Change? {
        assert(!committer.hasPending, "Saves are flushed before a model change is planned.")
        let outcome = try ModelChange.plan(
            declared: model, hash: model.hash, store: committer.store)
        if case .installs = outcome {
            try admission.authorize(.writer, of: session, to: "install a model")
        }
        return try install(outcome, session, declared: model.hash)
    }

    /// Keeps a model that a session declares, if necessary in place of models no longer declared.
    ///
    /// At most ``DaemonLimits/declaredModels`` models are kept. A session whose model is not kept
    /// learns only at its next hello that the model is outdated.
    private func keep(_ model: ManagedObjectModel, _ hash: StableHash) {
        if declared.count >= DaemonLimits.declaredModels {
            let used = Set(admission.sessions.values.compactMap(\.client.declaredHash))
            declared = declared.filter { used.contains($0.key) }
        }
        guard declared.count < DaemonLimits.declaredModels else { return }
        declared[hash] = model
    }

    // MARK: Installing

    private func install(
        _ outcome: ModelChange.Outcome, _ session: Session, declared: StableHash? = nil
    ) throws -> Change? {
        guard case .installs(let model) = outcome else {
            if let declared, session.client.role >= .writer {
                try committer.recordDeclaredModel(declared)
            }
            return nil
        }
        let wasEmpty = try committer.store.isEmpty
        if let earlier = committer.store.model { keep(earlier.model, earlier.hash) }
        let before = committer.position
        try notifier.patiently {
            try committer.install(
                model, declared: declared,
                by: try session.client.principal(author: nil, context: ""))
        }
        guard committer.position > before else { return nil }
        assert(
            committer.store.modelPosition == committer.position,
            "A model is installed as the last transaction.")
        return Change(before: before, wasEmpty: wasEmpty)
    }

    /// Returns the sessions whose declared model contains something that was removed from the
    /// store's model, with the errors that end them.
    func outdated(except installer: Session) -> [(session: Session, ending: Ending)] {
        guard let store = committer.store.model?.model else { return [] }
        return admission.ordered.compactMap { session in
            guard session !== installer, session.isReady else { return nil }
            let model = session.client.declaredHash.flatMap { declared[$0] }
            guard let missing = model?.missing(in: store), !missing.isEmpty else { return nil }
            return (session, Ending(ModelChange.refusal(ofOlder: missing)))
        }
    }
}

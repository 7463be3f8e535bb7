import TandemModel
import TandemStore
import TandemWire

/// Requests and declarations of apps and tools about the store's model.
extension Engine {
    func schema(_ request: SchemaRequest, _ id: UInt32, _ session: Session) throws {
        var report: MigrationReport?
        if let text = request.model {
            report = try carryOut(request.purpose, try parsed(text), session)
            try pump(session)
        }
        let answer = SchemaAnswer(
            position: committer.position, model: committer.modelBytes,
            report: report?.json.text)
        if session.sent == committer.position {
            session.answer(.schema(answer), to: id)
        } else {
            session.held.append((answer.position, id, .schema(answer)))
        }
    }

    private func parsed(_ text: String) throws(TandemError) -> Model {
        do {
            return try Model(parsing: text)
        } catch {
            throw TandemError(.usage, error.description)
        }
    }

    private func carryOut(
        _ purpose: SchemaRequest.Purpose, _ model: Model, _ session: Session
    ) throws -> MigrationReport? {
        switch purpose {
        case .apply:
            try authorize(.writer, of: session, to: "install a model")
            try commit()
            try install(try ModelChange.plan(whole: model, store: committer.store), session)
            return nil
        case .preview:
            try commit()
            return try notifier.patiently {
                try ModelChange.preview(model, store: committer.store).1
            }
        case .migrate:
            try authorize(.admin, of: session, to: "migrate the store")
            try commit()
            let (outcome, report) = try notifier.patiently {
                try ModelChange.preview(model, store: committer.store)
            }
            try ModelChange.check(report)
            try install(outcome, session)
            return report
        }
    }

    /// Processes the model that an app declares in its hello.
    func handle(declared text: String, _ session: Session) throws {
        let hash = StableHash(Array(text.utf8))
        // Most apps declare the store's own model, which need not be parsed.
        if committer.store.model?.hash == hash { return session.declaredHash = hash }
        let model = try parsed(text)
        session.declaredHash = model.hash
        keepDeclared(model, model.hash)
        try commit()
        let outcome = try ModelChange.plan(
            declared: model, hash: model.hash, store: committer.store)
        if case .installs = outcome { try authorize(.writer, of: session, to: "install a model") }
        try install(outcome, session, declared: model.hash)
    }

    /// Keeps a model that a session declares, if necessary in place of models no longer declared.
    ///
    /// At most ``DaemonLimits/declaredModels`` models are kept. A session whose model is not kept
    /// learns only at its next hello that the model is outdated.
    private func keepDeclared(_ model: Model, _ hash: StableHash) {
        if declaredModels.count >= DaemonLimits.declaredModels {
            let used = Set(sessions.values.compactMap(\.declaredHash))
            declaredModels = declaredModels.filter { used.contains($0.key) }
        }
        guard declaredModels.count < DaemonLimits.declaredModels else { return }
        declaredModels[hash] = model
    }

    private func install(
        _ outcome: ModelChange.Outcome, _ session: Session, declared: StableHash? = nil
    ) throws {
        guard case .installs(let model) = outcome else {
            if let declared, session.role >= .writer { try committer.know(declared) }
            return
        }
        let wasEmpty = try committer.store.isEmpty
        if let earlier = committer.store.model { keepDeclared(earlier.model, earlier.hash) }
        let before = committer.position
        try notifier.patiently {
            try committer.install(
                model, declared: declared, by: try session.principal(author: nil, context: ""))
        }
        guard committer.position > before else { return }
        // Positions before the model change can no longer be read.
        endPins(below: committer.store.modelPosition)
        letGo()
        if !wasEmpty { endOutdated(but: session) }
        // Only new entities get new tags, so existing interests stay valid.
        subscribers.markAllLagging(after: before) { following.append($0) }
        wakeSyncs()
    }

    /// Ends the sessions of apps that declare something the store's model no longer has.
    private func endOutdated(but installer: Session) {
        guard let store = committer.store.model?.model else { return }
        for session in sessions.values.sorted(by: { $0.id < $1.id })
        where session !== installer && session.isReady {
            let declared = session.declaredHash.flatMap { declaredModels[$0] }
            if let missing = declared?.missing(in: store), !missing.isEmpty {
                end(session, ModelChange.refusal(ofOlder: missing))
            }
        }
    }
}

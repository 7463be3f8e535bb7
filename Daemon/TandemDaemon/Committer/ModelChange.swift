import TandemModel
import TandemStore

/// Decides what becomes of the store's model, before anything is written.
enum ModelChange {
    /// What a model leads to that somebody brings.
    enum Outcome {
        /// The store's model stays.
        case serves
        /// This one is installed.
        case installs(CompiledModel)
    }

    // MARK: Apps

    /// What becomes of the model that an app declares in its hello.
    ///
    /// The app goes on where its model is the store's, or one that the store has served before and of which all is still there:
    /// an older version of it lives with the rules of today. Otherwise what it says beyond the store's, and every relaxed rule,
    /// is taken over; what only the store has stays, as it is a sibling's.
    /// Throws `usage` for a model that can't be used, `schemaMismatch` with every difference that is more than an addition.
    static func plan(
        declared: Model, hash: StableHash, store: Store
    ) throws -> Outcome {
        guard let current = store.model else { return .installs(try compiled(declared, store)) }
        if current.hash == hash { return .serves }
        if store.knownModels.contains(hash) {
            let missing = declared.missing(in: current.model)
            if missing.isEmpty { return .serves }
            guard try store.isEmpty else { throw refusal(ofOlder: missing) }
        }
        _ = try compiled(declared, store)
        let merged = current.model.adopting(declared)
        let differences = try differences(to: merged, store)
        let refused = differences.filter { !$0.isCompatible }
        guard refused.isEmpty else {
            if try store.isEmpty { return .installs(try compiled(declared, store)) }
            throw refusal(of: refused)
        }
        guard !differences.isEmpty else { return .serves }
        do {
            return .installs(try CompiledModel(merged, replacing: current))
        } catch {
            throw TandemError(
                .schemaMismatch, "the app's model does not go with the store's: \(error)")
        }
    }

    // MARK: Whole models

    /// What becomes of a model that is to be the store's, whole; an empty store takes any.
    ///
    /// Throws `usage` for a model that can't be used, `schemaMismatch` with every difference that is no addition.
    static func plan(whole model: Model, store: Store) throws -> Outcome {
        if store.model?.hash == model.hash { return .serves }
        let compiled = try compiled(model, store)
        guard store.model != nil, try !store.isEmpty else { return .installs(compiled) }
        let refused = try differences(to: model, store).filter { !$0.isCompatible }
        guard refused.isEmpty else { throw refusal(of: refused) }
        return .installs(compiled)
    }

    /// What becomes of a model that the store is to be migrated to, with what that does to what is stored.
    ///
    /// Throws `usage` for a model that can't be used.
    static func preview(_ model: Model, store: Store) throws -> (Outcome, MigrationReport) {
        let compiled = try compiled(model, store)
        if store.model?.hash == model.hash { return (.serves, MigrationReport()) }
        return (.installs(compiled), try store.preview(of: compiled))
    }

    /// Throws `schemaMismatch` or `validation` for a migration that can't be made as things are.
    static func check(_ report: MigrationReport) throws(TandemError) {
        let impossible = report.items.map(\.difference).filter { $0.effect == .impossible }
        guard impossible.isEmpty else {
            throw TandemError(
                .schemaMismatch, "this can't be done in one step: " + list(impossible))
        }
        guard !report.problems.isEmpty else { return }
        var error = TandemError(
            .validation,
            "what is stored does not keep the new model's rules: "
                + report.problems.map(\.description).joined(separator: "; "))
        error.problems = report.problems.flatMap { problem in
            problem.objects.map {
                ValidationProblem(
                    object: $0, property: problem.property, message: problem.message)
            }
        }
        throw error
    }

    // MARK: Pieces

    private static func compiled(_ model: Model, _ store: Store) throws -> CompiledModel {
        do {
            return try CompiledModel(model, replacing: store.model)
        } catch {
            throw TandemError(.usage, error.description)
        }
    }

    /// In what a model differs from the store's, if that has one.
    static func differences(
        to model: Model, _ store: Store
    ) throws(StoreError) -> [ModelDifference] {
        guard let current = store.model else { return [] }
        return try current.model.differences(to: model) { (name) throws(StoreError) -> Bool in
            guard let entity = current.entity(named: name) else { return false }
            return try store.hasObjects(of: entity)
        }
    }

    private static func list(_ differences: [ModelDifference]) -> String {
        differences.map(\.description).joined(separator: "; ")
    }

    private static func refusal(of differences: [ModelDifference]) -> TandemError {
        TandemError(
            .schemaMismatch,
            "the store's model can't be changed to this one by itself: \(list(differences)); "
                + "`tandem schema migrate FILE` shows what that does, and does it")
    }

    /// The refusal of an app of whose model something is gone.
    static func refusal(ofOlder missing: [ModelDifference]) -> TandemError {
        TandemError(
            .schemaMismatch,
            "the store has gone on to a model that this version of the app does not know: "
                + "\(list(missing)); use a newer version of the app")
    }
}

extension CompiledModel {
    /// Checks that slots in a request are of this model; those of another one would mean other properties.
    ///
    /// Throws `schemaMismatch`.
    func check(slotsOf version: UInt16, _ what: String, _ advice: String) throws(TandemError) {
        guard version != self.version else { return }
        throw TandemError(
            .schemaMismatch,
            "the model was changed while \(what) was made: it is of version \(version), the "
                + "store's model is version \(self.version); \(advice)")
    }
}

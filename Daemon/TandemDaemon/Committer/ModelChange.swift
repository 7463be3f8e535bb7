import TandemModel
import TandemStore

/// The decision whether a model is installed, made before anything is written.
enum ModelChange {
    /// The effect of a declared or applied model.
    enum Outcome {
        /// The store keeps its model.
        case serves
        /// This model is installed.
        case installs(CompiledModel)
    }

    // MARK: Apps

    /// Returns the effect of the model that an app declares in its hello.
    ///
    /// The app is served without a change if its model is the store's. The same holds if the store
    /// has served the model before and still has all of it; the older app version must then follow
    /// the current rules. Otherwise the declared model's additions and relaxed rules are merged
    /// into the store's model. Properties and entities that only the store has are kept, since they
    /// belong to other apps.
    ///
    /// Throws `usage` for an invalid model, and `schemaMismatch` with every difference that is not
    /// an addition or a relaxed rule.
    static func plan(
        declared: ManagedObjectModel, hash: StableHash, store: Store
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
                .schemaMismatch, "the app's model contradicts the store's: \(error)")
        }
    }

    // MARK: Whole models

    /// Returns the effect of applying a whole model as the store's; an empty store accepts any
    /// model.
    ///
    /// Throws `usage` for an invalid model, and `schemaMismatch` with every difference that is not
    /// an addition.
    static func plan(whole model: ManagedObjectModel, store: Store) throws -> Outcome {
        if store.model?.hash == model.hash { return .serves }
        let compiled = try compiled(model, store)
        guard store.model != nil, try !store.isEmpty else { return .installs(compiled) }
        let refused = try differences(to: model, store).filter { !$0.isCompatible }
        guard refused.isEmpty else { throw refusal(of: refused) }
        return .installs(compiled)
    }

    /// Returns the effect of migrating to a model, and a report on its effect on the stored
    /// objects.
    ///
    /// Throws `usage` for an invalid model.
    static func preview(_ model: ManagedObjectModel, store: Store) throws -> (
        Outcome, MigrationReport
    ) {
        let compiled = try compiled(model, store)
        if store.model?.hash == model.hash { return (.serves, MigrationReport()) }
        return (.installs(compiled), try store.preview(of: compiled))
    }

    /// Throws `schemaMismatch` or `validation` if the migration can't be carried out on this store.
    static func check(_ report: MigrationReport) throws(TandemError) {
        let impossible = report.items.map(\.difference).filter { $0.effect == .impossible }
        guard impossible.isEmpty else {
            throw TandemError(
                .schemaMismatch, "these changes are not possible: " + list(impossible))
        }
        guard !report.problems.isEmpty else { return }
        var error = TandemError(
            .validation,
            "stored objects violate rules of the new model: "
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

    private static func compiled(_ model: ManagedObjectModel, _ store: Store) throws
        -> CompiledModel
    {
        do {
            return try CompiledModel(model, replacing: store.model)
        } catch {
            throw TandemError(.usage, error.description)
        }
    }

    /// Returns the differences between a model and the store's, or none if the store has no model.
    static func differences(
        to model: ManagedObjectModel, _ store: Store
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
            "the store's model cannot be changed to this one without consent: \(list(differences)); "
                + "`tandem schema migrate FILE` shows the consequences and migrates the store")
    }

    /// Returns the error for an app whose model has declarations that were removed.
    static func refusal(ofOlder missing: [ModelDifference]) -> TandemError {
        TandemError(
            .schemaMismatch,
            "the store has a newer model, which no longer has declarations of this app: "
                + "\(list(missing)); use a newer version of the app")
    }
}

extension CompiledModel {
    /// Checks that the slots of a request belong to this model; in another model, they refer to
    /// other properties.
    ///
    /// Throws `schemaMismatch`.
    func check(slotsOf version: UInt16, _ what: String, _ advice: String) throws(TandemError) {
        guard version != self.version else { return }
        throw TandemError(
            .schemaMismatch,
            "the model was changed meanwhile: \(what) has model version \(version), but the store has "
                + "\(self.version); \(advice)")
    }
}

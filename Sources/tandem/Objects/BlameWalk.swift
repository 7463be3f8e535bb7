import Tandem

/// Finds the transaction that last set each property of an object, from its newest change
/// backwards.
struct BlameWalk {
    /// The requested property; nil for all.
    let property: String?
    let installed: [Installation]
    let names: CurrentNames
    /// The requested properties that exist.
    private(set) var wanted: [String] = []
    private(set) var found: [String: Blame.Setter] = [:]
    private var origins: PropertyOrigins?

    init(_ property: String?, _ installed: [Installation], _ names: CurrentNames) {
        (self.property, self.installed, self.names) = (property, installed, names)
    }

    /// Whether any change was read.
    var hasBegun: Bool { origins != nil }

    /// Evaluates the next older change; returns false if no earlier change is needed.
    mutating func process(_ step: ObjectHistory.Step) -> Bool {
        guard let entity = step.entity, let model = step.entry.model else { return true }
        if origins == nil { begin(step, entity, model) }
        consumeMigrations(after: step.entry.transaction.position)
        let properties = names.properties(of: entity, model)
        let ends = step.change.kind == .insert || step.change.kind == .delete
        for name in wanted where found[name] == nil {
            let slot = properties.firstIndex(of: name)
            if ends || slot.map(step.change.changed.contains) ?? false {
                found[name] = .step(step)
            }
        }
        return !ends && found.count < wanted.count
    }

    /// Records the migrations after a position that added properties.
    ///
    /// No change before such a migration can have set the added properties.
    mutating func consumeMigrations(after position: UInt64) {
        for name in wanted where found[name] == nil {
            found[name] = origins?.migration(bringing: name, after: position)
                .map { .migration($0.transaction) }
        }
    }

    private mutating func begin(
        _ step: ObjectHistory.Step, _ entity: CompiledEntity, _ model: CompiledModel
    ) {
        // A deleted object has the properties of the model at its deletion.
        let end = step.change.kind == .delete ? step.entry.transaction.position : .max
        let origins = PropertyOrigins(
            of: entity.tag, installed.filter { $0.position <= end }, else: model, names)
        wanted = origins.properties.filter { property ?? $0 == $0 }
        self.origins = origins
    }
}

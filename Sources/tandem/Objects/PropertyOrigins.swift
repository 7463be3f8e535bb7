import Tandem

/// The properties of an entity at a position, and the migrations that added them.
///
/// If a migration added a property, or added it again after it was dropped, its value was set by
/// the migration and not by an earlier save.
struct PropertyOrigins {
    /// The current names of the properties.
    private(set) var properties: [String]
    private var migrations: [String: Installation] = [:]

    /// Reads the properties from the installed models up to a position, oldest first.
    ///
    /// If `installed` is empty, `model` is the only model.
    init(
        of tag: EntityTag, _ installed: [Installation], else model: CompiledModel,
        _ names: CurrentNames
    ) {
        let known = { (model: CompiledModel) in
            model.entity(tagged: tag).map { names.properties(of: $0, model) } ?? []
        }
        properties = known(installed.first?.model ?? model)
        for installation in installed.dropFirst() {
            let (before, now) = (Set(properties), known(installation.model))
            migrations = migrations.filter { now.contains($0.key) }
            for name in now where !before.contains(name) { migrations[name] = installation }
            properties = now
        }
    }

    /// Returns the migration that added a property, or nil if none did after the given position.
    func migration(bringing property: String, after position: UInt64) -> Installation? {
        migrations[property].flatMap { $0.position > position ? $0 : nil }
    }
}

import Tandem

/// The properties that an entity has at a position, each with the migration that brought it.
///
/// A property that a migration added, or that came back after it had been dropped, was set by that migration and not by what
/// was saved before.
struct PropertyOrigins {
    /// By today's names.
    private(set) var properties: [String]
    private var migrations: [String: Installation] = [:]

    /// Reads them off the models that were installed up to a position, oldest first; where none is known there was only `model`.
    init(
        of tag: EntityTag, _ installed: [Installation], else model: CompiledModel,
        _ names: TodaysNames
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

    /// The migration that brought a property, if it came behind a position.
    func migration(bringing property: String, after position: UInt64) -> Installation? {
        migrations[property].flatMap { $0.position > position ? $0 : nil }
    }
}

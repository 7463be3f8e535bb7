import Tandem

/// The current names of the entities and properties of a transaction.
///
/// A search for `Club` also finds transactions that were saved while the entity was named `Team`.
/// An entity keeps its tag when it is renamed; the model contains a property's former name.
struct TransactionNames {
    /// The newest model, whose names are used in searches; nil if it is unknown.
    var newest: CompiledModel?
    /// The model of the transaction.
    private(set) var historical: CompiledModel?

    /// Creates names to which ``with(_:)`` adds the model of a transaction.
    init(newest: CompiledModel? = nil) { self.newest = newest }

    /// Returns these names together with the model of a transaction.
    func with(_ model: CompiledModel?) -> TransactionNames {
        var names = self
        names.historical = model
        return names
    }

    /// Returns the model that names an entity: the newest model if it contains the entity,
    /// otherwise the transaction's model.
    func model(of tag: EntityTag) -> CompiledModel? {
        newest?.entity(tagged: tag) != nil ? newest : historical
    }

    /// Returns whether an entity has this name or inherits from an entity with this name.
    func includes(_ name: String, _ tag: EntityTag) -> Bool {
        model(of: tag)?.entity(named: name)?.includes(tag) ?? false
    }

    /// Returns the slot of the property that has this name in the entity or, after a rename, in the
    /// newest model.
    func slot(of name: String, in entity: CompiledEntity) -> Int? {
        if let slot = entity.slot(of: name) { return slot }
        return newest?.entity(tagged: entity.tag)?.property(named: name)?.formerName
            .flatMap(entity.slot)
    }

    /// Returns the property's name in its model, and its current name if it was renamed.
    func all(of property: CompiledProperty, in entity: CompiledEntity) -> [String] {
        let now = newest?.entity(tagged: entity.tag)?.properties ?? []
        return [property.name] + now.filter { $0.formerName == property.name }.map(\.name)
    }
}

extension CompiledProperty {
    /// The name before the property was renamed, as declared in its model.
    fileprivate var formerName: String? {
        attribute?.renamedFrom ?? relationship?.declaration.renamedFrom
    }
}

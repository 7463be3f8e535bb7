import Tandem

/// What the entities and properties of a transaction are called now.
///
/// Who looks for `Club` means also what was saved while it was called `Team`. A rename keeps an entity's tag; of a property the model
/// says what it was called before.
struct NewestNames {
    /// The newest model, by whose names people ask; nil where it is not known.
    var newest: CompiledModel?
    /// The model that a transaction was saved under.
    private(set) var ofItsTime: CompiledModel?

    /// No names.
    init(newest: CompiledModel? = nil) { self.newest = newest }

    /// The same beside the model of a transaction.
    func beside(_ model: CompiledModel?) -> NewestNames {
        var names = self
        names.ofItsTime = model
        return names
    }

    /// The model that names an entity: the newest, if it still has it.
    func model(of tag: EntityTag) -> CompiledModel? {
        newest?.entity(tagged: tag) != nil ? newest : ofItsTime
    }

    /// Whether an object's entity is one of this name, or inherits from it.
    func includes(_ name: String, _ tag: EntityTag) -> Bool {
        model(of: tag)?.entity(named: name)?.includes(tag) ?? false
    }

    /// The slot that a property of some name has, or had under the name before.
    func slot(of name: String, in entity: CompiledEntity) -> Int? {
        if let slot = entity.slot(of: name) { return slot }
        return newest?.entity(tagged: entity.tag)?.property(named: name)?.formerName
            .flatMap(entity.slot)
    }

    /// What a property is called, and was.
    func all(of property: CompiledProperty, in entity: CompiledEntity) -> [String] {
        let now = newest?.entity(tagged: entity.tag)?.properties ?? []
        return [property.name] + now.filter { $0.formerName == property.name }.map(\.name)
    }
}

extension CompiledProperty {
    /// What it was called before it was renamed, as its model says.
    fileprivate var formerName: String? {
        attribute?.renamedFrom ?? relationship?.declaration.renamedFrom
    }
}

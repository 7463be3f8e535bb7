extension ManagedObjectModel {
    /// Returns the model with the declarations of both this model and `declared`.
    ///
    /// An app that declares only part of the model therefore does not remove the rest. If both
    /// models have a declaration, that of `declared` takes precedence;
    /// ``differences(to:hasObjects:)`` determines whether that is allowed.
    package func adopting(_ declared: ManagedObjectModel) -> ManagedObjectModel {
        let renames = ModelRenames(from: self, to: declared)
        var model = renames.applied(to: self)
        for (name, entity) in declared.entities {
            model.entities[name] = model.entities[name]?.adopting(entity) ?? entity
        }
        return model
    }

    /// Returns the declarations of this model that `store` lacks, for example because they were
    /// dropped.
    ///
    /// Rules, defaults and delete rules may differ: a declared entity or property is missing only
    /// if it does not exist with the same type.
    package func missing(in store: ManagedObjectModel) -> [ModelDifference] {
        let structure: Set<ModelDifference.Aspect> = [
            .parent, .type, .destination, .inverse, .toMany, .ordered,
        ]
        let renames = ModelRenames(from: self, to: store)
        return ModelComparison(base: self, next: store).differences().filter { difference in
            if difference.aspect == .declaration { return difference.to == nil }
            return structure.contains(difference.aspect)
        }.map { difference in
            guard difference.aspect == .declaration else { return difference }
            var difference = difference
            let name =
                difference.property.map {
                    renames.properties[difference.entity]?[$0]
                } ?? renames.entities[difference.entity]
            difference.why =
                name.map { "the store has renamed it to \($0)" }
                ?? "the store no longer has it"
            return difference
        }
    }
}

extension Entity {
    fileprivate func adopting(_ declared: Entity) -> Entity {
        var entity = declared
        for (name, attribute) in attributes
        where entity.attributes[name] == nil && entity.relationships[name] == nil {
            entity.attributes[name] = attribute
        }
        for (name, relationship) in relationships
        where entity.attributes[name] == nil && entity.relationships[name] == nil {
            entity.relationships[name] = relationship
        }
        entity.uniqueness = uniqueness + declared.uniqueness.filter { !uniqueness.contains($0) }
        entity.indexes = indexes + declared.indexes.filter { !indexes.contains($0) }
        return entity
    }
}

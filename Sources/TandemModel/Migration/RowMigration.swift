/// The migration of an entity's rows to another model, which maps each slot to its source.
///
/// Properties are matched by name or rename hint. A value whose type changes is converted, and a
/// reference to a dropped entity becomes null. A required value that would be null becomes the
/// default. The migration is a pure function of the row and the models, as replay requires (law 6).
package struct RowMigration: Sendable {
    private struct Source {
        let slot: Int
        let conversion: ValueConversion?
    }

    private let old: CompiledEntity
    private let new: CompiledEntity
    private let sources: [Source?]
    /// The tags of dropped entities.
    private let dropped: Set<EntityTag>
    /// The slots of the new row whose values can differ from the old ones.
    package let changed: PropertyMask
    /// The derived attributes that have to be recomputed from ``values(of:)``.
    package let derives: [CompiledDerivation]

    /// Creates the migration of an entity's rows to the same entity of a different model.
    package init(
        from old: CompiledEntity, to new: CompiledEntity, dropped: Set<EntityTag> = []
    ) {
        self.old = old
        self.new = new
        self.dropped = dropped
        let sources = RowMigration.sources(of: new, old)
        self.sources = sources
        let changed = PropertyMask(
            new.properties.filter { property in
                guard let source = sources[property.slot] else { return true }
                if source.conversion != nil || property.needsValue { return true }
                return property.relationship != nil && !dropped.isEmpty
            }.map(\.slot))
        derives = new.derivations.filter {
            changed.contains($0.slot) || changed.contains($0.source)
                || ($0.kind == .count && !dropped.isEmpty)
        }
        self.changed = changed.union(PropertyMask(derives.map(\.slot)))
    }

    private static func sources(of new: CompiledEntity, _ old: CompiledEntity) -> [Source?] {
        var sources = new.properties.map { source(of: $0, old) }
        // An attribute whose derivation changed has no source in the old row.
        for derivation in new.derivations {
            guard let slot = sources[derivation.slot]?.slot else { continue }
            let before = old.derivations.first { $0.slot == slot }
            let source = sources[derivation.source]?.slot
            // A relationship with the same name may have links of a different kind.
            let isSame = source.map { slot in
                old.properties[slot].relationship?.linkID
                    == new.properties[derivation.source].relationship?.linkID
            }
            if before?.kind != derivation.kind || before?.source != source || isSame != true {
                sources[derivation.slot] = nil
            }
        }
        return sources
    }

    private static func source(of property: CompiledProperty, _ old: CompiledEntity) -> Source? {
        let hint =
            property.attribute?.renamedFrom ?? property.relationship?.declaration.renamedFrom
        guard
            let before = old.property(named: property.name)
                ?? hint.flatMap({ old.property(named: $0) })
        else { return nil }
        let slot = before.slot
        switch (before.attribute, property.attribute) {
        case (let before?, let after?):
            if before.type == after.type { return Source(slot: slot, conversion: nil) }
            return ValueConversion(from: before.type, to: after.type).map {
                Source(slot: slot, conversion: $0)
            }
        case (nil, nil):
            guard before.isToMany == property.isToMany else { return nil }
            return Source(slot: slot, conversion: nil)
        default: return nil
        }
    }

    /// Returns the slot of the old row that is a property's source; nil if the property is new.
    package func source(of slot: Int) -> Int? { sources[slot]?.slot }

    /// Returns whether the values of a property are converted to another type.
    package func converts(_ slot: Int) -> Bool { sources[slot]?.conversion != nil }

    /// Returns whether a row has a value that can't be converted to the property's type.
    package func loses(_ slot: Int, of row: Row) -> Bool {
        guard let source = sources[slot], let conversion = source.conversion else { return false }
        return !row.isNull(source.slot, in: old)
            && conversion(row.uncheckedValue(source.slot, in: old)).isNull
    }

    /// Returns the values of a row under the new model.
    package func values(of row: Row) -> [PropertyValue] {
        new.properties.map { property in
            guard let source = sources[property.slot] else { return new.defaults[property.slot] }
            var value = row.uncheckedValue(source.slot, in: old)
            if let conversion = source.conversion { value = conversion(value) }
            if let target = value.reference, dropped.contains(target.tag) { value = .null }
            return value.isNull && !property.allowsNull ? new.defaults[property.slot] : value
        }
    }
}

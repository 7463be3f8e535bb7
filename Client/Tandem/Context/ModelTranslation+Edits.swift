import TandemModel
import TandemQuery

/// Edits translated into the slots of a different entity.
struct TranslatedEdits {
    var edits = Edits()
    /// The edited properties that do not exist in that entity, such as `Team.wins`.
    var lost: Set<String> = []
}

extension ModelTranslation {
    /// Translates edits into the slots of an entity of the new model.
    ///
    /// Edits to properties that the entity lacks are left out and reported by name.
    func edits(
        _ edits: Edits, of old: CompiledEntity, in now: CompiledEntity
    ) -> TranslatedEdits {
        var result = TranslatedEdits()
        result.edits.kind = edits.kind
        result.edits.isPredicted = edits.isPredicted
        result.edits.serial = edits.serial
        translateValues(edits, of: old, in: now, &result)
        translateMembers(edits.added, of: old, in: now, &result, \.added)
        translateMembers(edits.removed, of: old, in: now, &result, \.removed)
        translateRanks(edits.ranks, of: old, in: now, &result)
        if edits.kind == .insert { setNewDefaults(of: old, in: now, &result.edits) }
        recomputeFoldedStrings(in: now, &result.edits)
        // A record without edits must not have a serial.
        if result.edits.isEmpty { result.edits = Edits() }
        return result
    }

    private func translateValues(
        _ edits: Edits, of old: CompiledEntity, in now: CompiledEntity,
        _ result: inout TranslatedEdits
    ) {
        // Folded strings are computed again by the rules of the new model.
        for (slot, value) in edits.values where !edits.isFolded(value, slot, of: old) {
            if let (slot, value) = place(value, slot, of: old, in: now) {
                result.edits.values[slot] = value
            } else if edits.kind != .insert || value != old.defaults[slot] {
                result.lost.insert("\(old.name).\(old.properties[slot].name)")
            }
        }
    }

    private func place(
        _ value: PropertyValue, _ slot: Int, of old: CompiledEntity, in now: CompiledEntity
    ) -> (slot: Int, value: PropertyValue)? {
        guard let property = holder(of: slot, of: old, in: now), property.accepts(value),
            let value = try? self.value(value)
        else { return nil }
        return (property.slot, value)
    }

    /// Returns the corresponding property in the new model, or nil if there is none or it is
    /// derived differently.
    ///
    /// A set value can't be moved to a derived attribute, because every save would be refused.
    private func holder(
        of slot: Int, of old: CompiledEntity, in now: CompiledEntity
    ) -> CompiledProperty? {
        guard let same = property(old.properties[slot], in: now),
            now.derivation(of: same.slot)?.kind == old.derivation(of: slot)?.kind
        else { return nil }
        return same
    }

    /// Computes the folded strings of edited attributes, in the same way as an edit.
    private func recomputeFoldedStrings(in now: CompiledEntity, _ edits: inout Edits) {
        for derivation in now.derivations where derivation.kind == .folded {
            // A folded string that the application set is kept, and the save is refused.
            guard edits.values[derivation.slot] == nil,
                let source = edits.values[derivation.source]
            else { continue }
            edits.values[derivation.slot] = CompiledDerivation.folded(source)
        }
    }

    private func translateMembers(
        _ members: [Int: Set<ObjectReference>], of old: CompiledEntity, in now: CompiledEntity,
        _ result: inout TranslatedEdits,
        _ target: WritableKeyPath<Edits, [Int: Set<ObjectReference>]>
    ) {
        for (slot, members) in members {
            let property = self.property(old.properties[slot], in: now)
            let known = members.compactMap { try? reference($0) }
            if property == nil || known.count < members.count {
                result.lost.insert("\(old.name).\(old.properties[slot].name)")
            }
            guard let property, !known.isEmpty else { continue }
            result.edits[keyPath: target][property.slot] = Set(known)
        }
    }

    private func translateRanks(
        _ ranks: [Int: [ObjectReference: Rank]], of old: CompiledEntity, in now: CompiledEntity,
        _ result: inout TranslatedEdits
    ) {
        for (slot, places) in ranks {
            let property = self.property(old.properties[slot], in: now)
            guard let property, property.relationship?.isOrdered == true else {
                result.lost.insert("\(old.name).\(old.properties[slot].name)")
                continue
            }
            for (member, rank) in places {
                guard let member = try? reference(member) else { continue }
                result.edits.ranks[property.slot, default: [:]][member] = rank
            }
        }
    }

    /// Sets the defaults of properties that a new object's old entity lacked or derived
    /// differently.
    private func setNewDefaults(
        of old: CompiledEntity, in now: CompiledEntity, _ edits: inout Edits
    ) {
        let known = PropertyMask(
            old.properties.compactMap { holder(of: $0.slot, of: old, in: now)?.slot })
        for (slot, value) in now.defaults.enumerated()
        where !value.isNull && !known.contains(slot) { edits.values[slot] = value }
    }
}

extension Edits {
    /// Returns whether a value is the folded form of another edited value.
    fileprivate func isFolded(_ value: PropertyValue, _ slot: Int, of entity: CompiledEntity)
        -> Bool
    {
        guard let derivation = entity.derivation(of: slot), derivation.kind == .folded,
            let source = values[derivation.source]
        else { return false }
        return CompiledDerivation.folded(source) == value
    }
}

extension CompiledEntity {
    fileprivate func derivation(of slot: Int) -> CompiledDerivation? {
        derived.contains(slot) ? derivations.first { $0.slot == slot } : nil
    }
}

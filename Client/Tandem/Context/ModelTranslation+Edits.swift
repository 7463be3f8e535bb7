import TandemModel

/// Edits in the slots of another entity.
struct TranslatedEdits {
    var edits = Edits()
    /// The properties that were edited and have no place there, as `Team.wins`.
    var lost: Set<String> = []
}

extension ModelTranslation {
    /// The same edits in the slots of an entity of the new model; what that has no place for is left out, and named.
    func edits(
        _ edits: Edits, of old: CompiledEntity, in now: CompiledEntity
    ) -> TranslatedEdits {
        var result = TranslatedEdits()
        result.edits.kind = edits.kind
        result.edits.isPreview = edits.isPreview
        result.edits.serial = edits.serial
        for (slot, value) in edits.values {
            if let (slot, value) = place(value, of: old.properties[slot], in: now) {
                result.edits.values[slot] = value
            } else if edits.kind != .insert || value != old.defaults[slot] {
                result.lost.insert("\(old.name).\(old.properties[slot].name)")
            }
        }
        take(edits.added, of: old, in: now, &result, \.added)
        take(edits.removed, of: old, in: now, &result, \.removed)
        takePlaces(edits.ranks, of: old, in: now, &result)
        if edits.kind == .insert { setNewDefaults(of: old, in: now, &result.edits) }
        // A record without edits has no serial either.
        if result.edits.isEmpty { result.edits = Edits() }
        return result
    }

    private func place(
        _ value: Value, of property: CompiledProperty, in now: CompiledEntity
    ) -> (slot: Int, value: Value)? {
        guard let property = self.property(property, in: now), property.accepts(value),
            let value = try? self.value(value)
        else { return nil }
        return (property.slot, value)
    }

    private func take(
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

    private func takePlaces(
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

    /// Gives a new object the defaults of properties that its entity did not have when it was made.
    private func setNewDefaults(
        of old: CompiledEntity, in now: CompiledEntity, _ edits: inout Edits
    ) {
        let known = PropertyMask(old.properties.compactMap { property($0, in: now)?.slot })
        for (slot, value) in now.defaults.enumerated()
        where !value.isNull && !known.contains(slot) { edits.values[slot] = value }
    }
}

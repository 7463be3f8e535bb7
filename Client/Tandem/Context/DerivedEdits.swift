import TandemModel
import TandemQuery

extension ObjectRecord {
    /// Returns whether a pending value is known to equal the value that the daemon will compute.
    ///
    /// If the application has set a different value, that value is sent, and the save is refused.
    func isComputed(_ value: PropertyValue, _ slot: Int) -> Bool {
        guard entity.derived.contains(slot),
            let derivation = entity.derivations.first(where: { $0.slot == slot })
        else { return false }
        switch derivation.kind {
        case .count: return pending.kind == .insert && value == entity.defaults[slot]
        case .folded:
            return pending.values[derivation.source].map {
                CompiledDerivation.folded($0) == value
            } ?? false
        }
    }

    /// The pending values that a save sends.
    var sentValues: SlotValues {
        let derived = pending.values.mask.intersection(entity.derived)
        if derived.isEmpty { return pending.values }
        var values = pending.values
        for slot in derived {
            guard let value = values[slot], isComputed(value, slot) else { continue }
            values[slot] = nil
        }
        return values
    }

    /// The validation problems of derived attributes that the application set.
    var derivedProblems: [ValidationProblem] {
        let derived = pending.values.mask.intersection(entity.derived)
        return derived.compactMap { slot in
            let property = entity.properties[slot]
            guard let value = pending.values[slot], !isComputed(value, slot),
                let message = property.settingProblem
            else { return nil }
            return ValidationProblem(object: id, property: property.name, message: message)
        }
    }
}

import TandemModel
import TandemQuery

/// The computation of a save's derived attributes, after everything else is planned.
///
/// At this point the plan includes cascades, nullified links and replaced objects. A count is
/// computed from the count in the row and the members added and removed, so the cost doesn't depend
/// on the total number of members. An object whose members change is already part of the plan; if
/// only its links changed, the new count also changes its row.
struct DerivedAttributes {
    let graph: PlanningGraph

    /// Computes the derived attributes of objects that are sorted by number.
    func compute(_ objects: [PlanningObject]) throws {
        for working in objects where !working.entity.derivations.isEmpty && !working.isDeleted {
            for derivation in working.entity.derivations {
                guard let value = try value(derivation, of: working) else { continue }
                let slot = derivation.slot
                working.set(
                    slot, try graph.inRow(value, working.object, slot, working.entity))
            }
        }
    }

    /// Returns the value after the save, or nil if it does not change.
    private func value(
        _ derivation: CompiledDerivation, of working: PlanningObject
    ) throws -> PropertyValue? {
        switch derivation.kind {
        case .count: return try count(derivation, of: working)
        case .folded:
            guard working.isInserted || working.written.contains(derivation.source) else {
                return nil
            }
            return try CompiledDerivation.folded(working.value(derivation.source)) {
                try graph.content(of: $0)
            }
        }
    }

    private func count(
        _ derivation: CompiledDerivation, of working: PlanningObject
    ) throws -> PropertyValue? {
        guard let delta = working.delta(derivation.source), !delta.isEmpty else { return nil }
        if case .int(let before) = working.value(derivation.slot) {
            return .int(before + Int64(delta.added.count - delta.removed.count))
        }
        guard let relationship = working.entity.properties[derivation.source].relationship else {
            return nil
        }
        return .int(
            Int64(
                try graph.memberCount(
                    of: working.object, derivation.source, relationship, upTo: .max)))
    }
}

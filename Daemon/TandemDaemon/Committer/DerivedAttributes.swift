import TandemModel
import TandemQuery

/// Computes the derived attributes of a save's objects, once all else of it is planned: cascades, nullified links, replaced objects.
///
/// A count goes on from what the row has by the members that came and went, so that it costs these and not all members. Objects whose
/// members change are among the save's objects anyway: where only links changed else, their row changes with the count.
struct DerivedAttributes {
    let graph: WorkingGraph

    /// Computes those of the objects of the save, by number.
    func compute(_ objects: [WorkingObject]) throws {
        for working in objects where !working.entity.derivations.isEmpty && !working.isDeleted {
            for derivation in working.entity.derivations {
                guard let value = try value(derivation, of: working) else { continue }
                let slot = derivation.slot
                working.set(
                    slot, try graph.inRow(value, working.object, slot, working.entity))
            }
        }
    }

    /// The value after the save; nil where it stays.
    private func value(
        _ derivation: CompiledDerivation, of working: WorkingObject
    ) throws -> Value? {
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
        _ derivation: CompiledDerivation, of working: WorkingObject
    ) throws -> Value? {
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

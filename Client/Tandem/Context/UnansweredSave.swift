import TandemModel
import TandemWire

/// A save that was sent and is not settled: its request, and the objects whose edits are in flight.
struct UnansweredSave {
    var request: SaveRequest
    var records: [ObjectRecord]
    /// Whether the outcome is unknown, so that it has to be repeated before the next save.
    var isUnknown = false
    /// Whether its transaction was merged.
    var isMerged = false
}

/// Turns edits into the operations of a save.
struct SaveBuilder {
    let model: CompiledModel
    let policy: MergePolicy

    func operations(_ records: [ObjectRecord]) -> [SaveOperation] {
        records.compactMap { operation($0) }
    }

    private func operation(_ record: ObjectRecord) -> SaveOperation? {
        let edits = record.pending
        let links = links(record)
        switch edits.kind {
        case .delete:
            return .delete(object: record.reference, baseVersion: record.version)
        case .insert:
            let values = edits.values.filter { !$0.value.isNull }.map {
                SlotValue(slot: $0.key, value: $0.value)
            }
            return .insert(
                object: record.reference, values: values.sorted { $0.slot < $1.slot },
                links: links.filter(\.isAdded))
        case .none:
            let values = values(record)
            if values.isEmpty, links.isEmpty { return nil }
            return .update(
                object: record.reference, baseVersion: record.version, values: values, links: links)
        }
    }

    private func values(_ record: ObjectRecord) -> [SaveValue] {
        var slots = Array(record.pending.values.keys)
        if policy == .overwrite, record.row != nil, !slots.isEmpty {
            slots = record.entity.properties.filter { !$0.isToMany }.map(\.slot)
        }
        return slots.compactMap { slot in
            record.value(slot).map {
                SaveValue(
                    slot: slot, value: $0, base: record.row?.value(slot, in: record.entity))
            }
        }
    }

    /// The links that only a to-many relationship carries, each from one of its ends.
    private func links(_ record: ObjectRecord) -> [LinkChange] {
        if record.pending.added.isEmpty, record.pending.removed.isEmpty { return [] }
        var result: [LinkChange] = []
        for property in record.entity.properties {
            guard let relationship = property.relationship, relationship.toMany,
                relationship.inverseToMany
            else { continue }
            let slot = property.slot
            for (members, isAdded) in [
                (record.pending.added[slot], true), (record.pending.removed[slot], false),
            ] {
                for member in (members ?? []).sorted()
                where isSender(record.reference, slot, relationship, member) {
                    result.append(LinkChange(slot: slot, target: member, isAdded: isAdded))
                }
            }
        }
        return result
    }

    /// Of the two ends of a many-to-many link, one sends it: the ordered one, else that with the lower link number.
    private func isSender(
        _ owner: ObjectReference, _ slot: Int, _ relationship: CompiledRelationship,
        _ member: ObjectReference
    ) -> Bool {
        guard
            let inverse = model.entity(tagged: relationship.destination)?
                .properties[relationship.inverseSlot].relationship
        else { return true }
        if relationship.declaration.ordered != inverse.declaration.ordered {
            return relationship.declaration.ordered
        }
        if relationship.linkID != inverse.linkID { return relationship.linkID < inverse.linkID }
        return owner.number <= member.number
    }

    /// Stands for what is saved, apart from the numbers of new objects and what the save is based on.
    static func contentHash(_ operations: [SaveOperation]) -> StableHash {
        var ordinals: [ObjectNumber: UInt64] = [:]
        for case .insert(let object, _, _) in operations {
            ordinals[object.number] = UInt64(ordinals.count)
        }
        let renumber = Renumbering(ordinals: ordinals)
        var writer = ByteWriter(capacity: 256)
        writer.count(operations.count)
        for operation in operations { renumber.neutral(operation).encode(into: &writer) }
        return StableHash(writer.bytes)
    }
}

/// Replaces the numbers of new objects by their ordinals, under an entity tag that no object has.
private struct Renumbering {
    let ordinals: [ObjectNumber: UInt64]

    func neutral(_ operation: SaveOperation) -> SaveOperation {
        switch operation {
        case .insert(let object, let values, let links):
            .insert(
                object: ObjectReference(tag: object.tag, number: map(object).number),
                values: values.map { SlotValue(slot: $0.slot, value: map($0.value)) },
                links: neutral(links))
        case .update(let object, _, let values, let links):
            .update(
                object: map(object), baseVersion: 0,
                values: values.map { SaveValue(slot: $0.slot, value: map($0.value)) },
                links: neutral(links))
        case .delete(let object, _): .delete(object: map(object), baseVersion: 0)
        }
    }

    private func neutral(_ links: [LinkChange]) -> [LinkChange] {
        let mapped = links.map {
            LinkChange(slot: $0.slot, target: map($0.target), isAdded: $0.isAdded)
        }
        return mapped.sorted {
            ($0.slot, $0.target.tag, $0.target.number) < ($1.slot, $1.target.tag, $1.target.number)
        }
    }

    private func map(_ value: Value) -> Value {
        if case .reference(let reference) = value { .reference(map(reference)) } else { value }
    }

    private func map(_ reference: ObjectReference) -> ObjectReference {
        guard let ordinal = ordinals[reference.number] else { return reference }
        return ObjectReference(tag: .max, number: ordinal)
    }
}

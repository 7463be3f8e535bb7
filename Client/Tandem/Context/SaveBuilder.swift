import TandemModel
import TandemWire

/// Encodes edits as the operations of a save.
struct SaveBuilder {
    let policy: MergePolicy
    /// The records to send; records with only mirrored edits or predicted effects of delete rules
    /// are left out.
    private let records: [ObjectRecord]
    /// The ordinals of new objects in the order of insertion, by number.
    private let ordinals: [ObjectNumber: Int]
    /// The links that each object sends, by object number.
    private let links: [ObjectNumber: [LinkChange]]

    /// The model that the app declares; `overwrite` sends properties that it lacks only if they
    /// were edited.
    ///
    /// Nil means that all properties are declared.
    private let declared: ManagedObjectModel?
    private let model: CompiledModel

    init(
        model: CompiledModel, policy: MergePolicy, records: [ObjectRecord],
        declared: ManagedObjectModel? = nil
    ) {
        self.policy = policy
        self.model = model
        self.declared = declared
        var ordinals: [ObjectNumber: Int] = [:]
        var links = SentLinks(model: model)
        var hasMirroredEdits = false
        for record in records {
            switch record.pendingKind {
            case .insert: ordinals[record.reference.number] = ordinals.count
            case .delete:
                hasMirroredEdits = hasMirroredEdits || record.pending.isPredicted
                continue
            case .none: hasMirroredEdits = hasMirroredEdits || record.pending.values.isEmpty
            }
            if record.pending.hasLinks { links.owners.append(record) }
        }
        let sent = links.all(ordinals)
        self.ordinals = ordinals
        self.links = sent
        self.records =
            hasMirroredEdits
            ? records.filter { record in
                record.pendingKind != .none && !record.pending.isPredicted
                    || !record.pending.values.isEmpty || sent[record.reference.number] != nil
            } : records
    }

    /// Returns the operations of all edits.
    ///
    /// `all` contains all inserted objects, in order, if those that were deleted again have to be
    /// sent as well. They are sent as inserts with deletions, so that the answer contains an
    /// outcome for each.
    func operations(alsoInserted all: [ObjectRecord] = []) -> EncodedOperations {
        let gone = all.filter { ordinals[$0.reference.number] == nil }
        if gone.isEmpty {
            var writer = SaveOperationWriter(count: records.count)
            for record in records { write(record, into: &writer) }
            return writer.finish()
        }
        let listed = Set(all.map(\.reference.number))
        let others = records.filter { !listed.contains($0.reference.number) }
        var writer = SaveOperationWriter(count: all.count + others.count + gone.count)
        for record in all {
            if ordinals[record.reference.number] != nil {
                write(record, into: &writer)
            } else {
                writer.insert(record.reference, values: 0)
                writer.links([])
            }
        }
        for record in others { write(record, into: &writer) }
        for record in gone { writer.delete(record.reference, baseVersion: 0) }
        return writer.finish()
    }

    private func write(_ record: ObjectRecord, into writer: inout SaveOperationWriter) {
        let reference = record.reference
        switch record.pendingKind {
        case .delete: return writer.delete(reference, baseVersion: record.version)
        case .insert:
            let values = record.insertedValues
            writer.insert(reference, values: values.count)
            for (slot, value) in values { writer.value(slot, value) }
            writer.links((links[reference.number] ?? []).filter { $0.action != .remove })
        case .none:
            writeValues(of: record, into: &writer)
            writer.links(links.isEmpty ? [] : links[reference.number] ?? [])
        }
    }

    private func writeValues(of record: ObjectRecord, into writer: inout SaveOperationWriter) {
        let (reference, row) = (record.reference, record.row)
        if policy == .overwrite, row != nil, !record.pending.values.isEmpty {
            let known = declaredNames(of: record.entity)
            let values = record.entity.properties.filter { property in
                !property.isToMany && property.derivation == nil
                    && (known?.contains(property.name) ?? true
                        || record.pending.values[property.slot] != nil)
            }.compactMap { property in record.value(property.slot).map { (property.slot, $0) } }
            writer.update(reference, baseVersion: record.version, values: values.count)
            for (slot, value) in values {
                writer.value(slot, value, base: row?.uncheckedValue(slot, in: record.entity))
            }
            return
        }
        let values = record.sentValues
        writer.update(reference, baseVersion: record.version, values: values.count)
        for (slot, value) in values {
            writer.value(slot, value, base: row?.uncheckedValue(slot, in: record.entity))
        }
    }

    /// Returns the names of an entity's declared properties, or nil if all are declared.
    private func declaredNames(of entity: CompiledEntity) -> Set<String>? {
        guard let declared else { return nil }
        return entity.ancestors.reduce(into: []) { names, tag in
            guard let known = model.entity(tagged: tag).flatMap({ declared.entities[$0.name] })
            else { return }
            names.formUnion(known.attributes.keys)
            names.formUnion(known.relationships.keys)
        }
    }

    // MARK: Content hash

    /// Returns a hash of the saved content, without the numbers of new objects and the versions the
    /// save is based on.
    ///
    /// Only edits are hashed: the additional values that `overwrite` sends depend on what others
    /// saved meanwhile. Inserts are hashed in order, because a retry identifies them by their
    /// order. Other operations are sorted by object, whatever the order of the edits.
    func contentHash() -> StableHash {
        var writer = SaveOperationWriter(count: records.count)
        for record in ordered() { writeNeutral(record, into: &writer) }
        return StableHash(writer.finish().bytes)
    }

    private func ordered() -> [ObjectRecord] {
        if ordinals.isEmpty {
            return isInOrder
                ? records : records.sorted { $0.reference < $1.reference }
        }
        let inserts = records.filter { ordinals[$0.reference.number] != nil }
        let others = records.filter { ordinals[$0.reference.number] == nil }
        return inserts + others.sorted { $0.reference < $1.reference }
    }

    private var isInOrder: Bool {
        var last: ObjectReference?
        for record in records {
            if let last, last >= record.reference { return false }
            last = record.reference
        }
        return true
    }

    private func writeNeutral(_ record: ObjectRecord, into writer: inout SaveOperationWriter) {
        let reference = record.reference
        switch record.pendingKind {
        case .delete: return writer.delete(neutral(reference), baseVersion: 0)
        case .insert:
            // The entity of a new object is part of the content, but its number is not.
            let object = ObjectReference(tag: reference.tag, number: neutral(reference).number)
            let values = record.insertedValues
            writer.insert(object, values: values.count)
            for (slot, value) in values { writer.value(slot, neutral(value)) }
            writer.links(neutral((links[reference.number] ?? []).filter { $0.action != .remove }))
        case .none:
            let values = record.sentValues
            writer.update(reference, baseVersion: 0, values: values.count)
            for (slot, value) in values { writer.value(slot, neutral(value), base: nil) }
            writer.links(links.isEmpty ? [] : neutral(links[reference.number] ?? []))
        }
    }

    private func neutral(_ links: [LinkChange]) -> [LinkChange] {
        if links.isEmpty { return links }
        let mapped = links.map {
            LinkChange(
                slot: $0.slot, target: neutral($0.target), $0.action, rank: $0.rank)
        }
        return mapped.sorted {
            ($0.slot, $0.target.tag, $0.target.number) < ($1.slot, $1.target.tag, $1.target.number)
        }
    }

    private func neutral(_ value: PropertyValue) -> PropertyValue {
        if case .reference(let reference) = value { .reference(neutral(reference)) } else { value }
    }

    /// Replaces a new object with its ordinal, under an entity tag that no object has.
    private func neutral(_ reference: ObjectReference) -> ObjectReference {
        guard !ordinals.isEmpty, let ordinal = ordinals[reference.number] else {
            return reference
        }
        return ObjectReference(tag: .max, number: UInt64(ordinal))
    }
}

extension ObjectRecord {
    /// The values of an insert; null is sent only if it overrides a default.
    fileprivate var insertedValues: SlotValues {
        var values = sentValues
        for (slot, value) in values where value.isNull && entity.defaults[slot].isNull {
            values[slot] = nil
        }
        return values
    }
}

/// Collects the changes to many-to-many links and ranks; each link is sent by one of its ends.
private struct SentLinks {
    let model: CompiledModel
    /// The objects with edits to to-many relationships, except deleted ones.
    var owners: [ObjectRecord] = []

    init(model: CompiledModel) { self.model = model }

    /// Returns the links to send, by the number of the object that sends them.
    ///
    /// `ordinals` contains the ordinals of new objects.
    func all(_ ordinals: [ObjectNumber: Int]) -> [ObjectNumber: [LinkChange]] {
        var result: [ObjectNumber: [LinkChange]] = [:]
        for owner in owners {
            let links = links(of: owner, ordinals)
            if !links.isEmpty { result[owner.reference.number] = links }
        }
        return result
    }

    private func links(
        of record: ObjectRecord, _ ordinals: [ObjectNumber: Int]
    ) -> [LinkChange] {
        let edits = record.pending
        var result: [LinkChange] = []
        for property in record.entity.properties {
            guard let relationship = property.relationship, relationship.toMany else { continue }
            let slot = property.slot
            var ranks = edits.ranks[slot] ?? [:]
            for (members, isAdded) in [
                (edits.added[slot], true), (edits.removed[slot], false),
            ] where relationship.inverseToMany {
                for member in (members ?? []).sorted()
                where isSender(record.reference, relationship, member, ordinals) {
                    let rank = isAdded ? ranks.removeValue(forKey: member) : nil
                    result.append(
                        LinkChange(slot: slot, target: member, isAdded: isAdded, rank: rank))
                }
            }
            // Membership is sent by the other end, or is unchanged.
            for (member, rank) in ranks.sorted(by: { $0.key < $1.key }) {
                result.append(LinkChange(slot: slot, target: member, .place, rank: rank))
            }
        }
        return result
    }

    /// Returns whether `owner` is the end that sends a many-to-many link.
    ///
    /// An ordered end sends the link; otherwise, the end with the lower link id sends it. If both
    /// ends have the same relationship, a new object sends it, so that a retry with other object
    /// numbers sends the same links.
    private func isSender(
        _ owner: ObjectReference, _ relationship: CompiledRelationship,
        _ member: ObjectReference, _ ordinals: [ObjectNumber: Int]
    ) -> Bool {
        guard
            let inverse = model.entity(tagged: relationship.destination)?
                .properties[relationship.inverseSlot].relationship
        else { return true }
        if relationship.declaration.ordered != inverse.declaration.ordered {
            return relationship.declaration.ordered
        }
        if relationship.linkID != inverse.linkID { return relationship.linkID < inverse.linkID }
        switch (ordinals[owner.number], ordinals[member.number]) {
        case (nil, nil): return owner.number <= member.number
        case (let mine?, let other?): return mine <= other
        case (let mine, _): return mine != nil
        }
    }
}

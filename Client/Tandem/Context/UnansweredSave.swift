import TandemModel
import TandemWire

/// A save that was sent and is not settled: its request, and the objects whose edits are in flight.
struct UnansweredSave {
    var request: SaveRequest
    var records: [ObjectRecord]
    /// The model that the request's slots are of.
    var model: CompiledModel
    /// The last position that was known when it was sent first.
    var sentAt: UInt64
    /// Whether its id was made for it, so that nobody else saves under it.
    var hasOwnID: Bool
    /// Whether the outcome is unknown, so that it has to be repeated before the next save.
    var isUnknown = false
    /// Whether its transaction was merged.
    var isMerged = false

    /// Whether it is this save that a transaction is of.
    func isMade(by transaction: Transaction) -> Bool {
        transaction.saveID == request.saveID && transaction.contentHash == request.contentHash
    }

    /// What the inserts became, by the header of this save's own transaction.
    func outcomes(by exceptions: [InsertException]) -> [ObjectReference?] {
        var outcomes: [ObjectReference?] = request.inserts
        for exception in exceptions where exception.index < outcomes.count {
            outcomes[exception.index] = exception.object
        }
        return outcomes
    }
}

/// Turns edits into the operations of a save.
struct SaveBuilder {
    let model: CompiledModel
    let policy: MergePolicy
    let records: [ObjectRecord]
    /// The new objects in the order of insertion, by number.
    private let ordinals: [ObjectNumber: Int]

    init(model: CompiledModel, policy: MergePolicy, records: [ObjectRecord]) {
        self.model = model
        self.policy = policy
        self.records = records
        var ordinals: [ObjectNumber: Int] = [:]
        for record in records where record.pending.kind == .insert {
            ordinals[record.reference.number] = ordinals.count
        }
        self.ordinals = ordinals
    }

    /// The operations of all edits.
    ///
    /// `all` are the objects that were inserted, in order, if those that were deleted again are to be sent too: as inserts that
    /// the save itself deletes, so that the answer has a place for them.
    func operations(alsoInserted all: [ObjectRecord] = []) -> [SaveOperation] {
        var operations: [SaveOperation] = []
        operations.reserveCapacity(records.count)
        for record in records {
            if let operation = operation(record) { operations.append(operation) }
        }
        let gone = all.filter { ordinals[$0.reference.number] == nil }.map(\.reference)
        if gone.isEmpty { return operations }
        let sent = Dictionary(
            operations.map { ($0.object.number, $0) }, uniquingKeysWith: { $1 })
        let inserts = all.map { record in
            ordinals[record.reference.number].flatMap { _ in sent[record.reference.number] }
                ?? .insert(object: record.reference, values: [], links: [])
        }
        let listed = Set(inserts.map(\.object.number))
        return inserts + operations.filter { !listed.contains($0.object.number) }
            + gone.map { .delete(object: $0, baseVersion: 0) }
    }

    private func operation(_ record: ObjectRecord) -> SaveOperation? {
        let edits = record.pending
        if edits.isPreview { return nil }
        let links = links(record, edits)
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
            let values = values(record, edits.values)
            if values.isEmpty, links.isEmpty { return nil }
            return .update(
                object: record.reference, baseVersion: record.version, values: values, links: links)
        }
    }

    private func values(_ record: ObjectRecord, _ edited: SlotValues) -> [SaveValue] {
        guard policy == .overwrite, record.row != nil, !edited.isEmpty else {
            return edited.map { value($0.key, $0.value, record) }
        }
        return record.entity.properties.lazy.filter { !$0.isToMany }.map(\.slot).compactMap {
            slot in
            record.value(slot).map { value(slot, $0, record) }
        }
    }

    private func value(_ slot: Int, _ value: Value, _ record: ObjectRecord) -> SaveValue {
        SaveValue(slot: slot, value: value, base: record.row?.value(slot, in: record.entity))
    }

    /// The links that only a to-many relationship carries, each from one of its ends.
    private func links(_ record: ObjectRecord, _ edits: Edits) -> [LinkChange] {
        if edits.added.isEmpty, edits.removed.isEmpty { return [] }
        var result: [LinkChange] = []
        for property in record.entity.properties {
            guard let relationship = property.relationship, relationship.toMany,
                relationship.inverseToMany
            else { continue }
            let slot = property.slot
            for (members, isAdded) in [
                (edits.added[slot], true), (edits.removed[slot], false),
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
    ///
    /// Between ends of one relationship it is the new object, so that a repeat with other numbers sends the same.
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
        switch (ordinals[owner.number], ordinals[member.number]) {
        case (nil, nil): return owner.number <= member.number
        case (let mine?, let other?): return mine <= other
        case (let mine, _): return mine != nil
        }
    }

    /// Stands for the edits alone: what `overwrite` sends besides depends on what others saved meanwhile.
    ///
    /// `sent` are the operations of this builder; when they are those of all edits, they need not be made again.
    func contentHash(of sent: [SaveOperation], hasAll: Bool) -> StableHash {
        if hasAll, policy != .overwrite { return SaveBuilder.contentHash(sent) }
        let builder = SaveBuilder(model: model, policy: .error, records: records)
        return SaveBuilder.contentHash(builder.operations())
    }

    /// Stands for what is saved, apart from the numbers of new objects and what the save is based on.
    ///
    /// Inserts come in their order, since that is how a repeat names them; the rest by object, in whatever order it was edited.
    static func contentHash(_ operations: [SaveOperation]) -> StableHash {
        var ordinals: [ObjectNumber: UInt64] = [:]
        for case .insert(let object, _, _) in operations {
            ordinals[object.number] = UInt64(ordinals.count)
        }
        var writer = ByteWriter(capacity: 16 + 48 * operations.count)
        writer.count(operations.count)
        let renumber = Renumbering(ordinals: ordinals)
        for operation in ordered(operations, ordinals) {
            renumber.neutral(operation).encode(into: &writer)
        }
        return StableHash(writer.bytes)
    }

    private static func ordered(
        _ operations: [SaveOperation], _ ordinals: [ObjectNumber: UInt64]
    ) -> [SaveOperation] {
        if ordinals.isEmpty {
            return isInOrder(operations)
                ? operations : operations.sorted { $0.object < $1.object }
        }
        let inserts = operations.filter { ordinals[$0.object.number] != nil }
        let others = operations.filter { ordinals[$0.object.number] == nil }
        return inserts + others.sorted { $0.object < $1.object }
    }

    private static func isInOrder(_ operations: [SaveOperation]) -> Bool {
        var last: ObjectReference?
        for operation in operations {
            let object = operation.object
            if let last, last >= object { return false }
            last = object
        }
        return true
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
                values: isNeutral(values)
                    ? values : values.map { SaveValue(slot: $0.slot, value: map($0.value)) },
                links: neutral(links))
        case .delete(let object, _): .delete(object: map(object), baseVersion: 0)
        }
    }

    private func isNeutral(_ values: [SaveValue]) -> Bool {
        ordinals.isEmpty && values.allSatisfy { $0.base == nil }
    }

    private func neutral(_ links: [LinkChange]) -> [LinkChange] {
        if links.isEmpty { return links }
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
        guard !ordinals.isEmpty, let ordinal = ordinals[reference.number] else {
            return reference
        }
        return ObjectReference(tag: .max, number: ordinal)
    }
}

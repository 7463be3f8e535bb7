package import TandemModel

/// Decodes the changes of transactions, each under the model at its position, with current names.
///
/// State: the models read from the journal, and the current names derived from them.
package struct ChangeDecoder: Sendable {
    /// The known models.
    package private(set) var timeline: ModelTimeline
    /// The current names by model version and entity.
    private var names: [NamesKey: PropertyNames] = [:]

    private struct NamesKey: Hashable {
        var version: UInt16
        var tag: EntityTag
    }

    /// Creates a decoder with the store's model.
    package init(latest: CompiledModel) { timeline = ModelTimeline(latest: latest) }

    /// Records the model that a transaction installs; ignores other transactions.
    ///
    /// Throws ``CodingError`` if the model can't be read.
    package mutating func record(_ transaction: Transaction) throws(CodingError) {
        let before = timeline.newest?.version
        try timeline.record(transaction)
        if timeline.newest?.version != before { names.removeAll() }
    }

    /// Marks every model of the journal as recorded.
    package mutating func complete() {
        timeline.complete()
        names.removeAll()
    }

    /// Returns the changes of a transaction.
    ///
    /// Throws `historyExpired` if the journal no longer has the transaction's model, and `storage`
    /// if a change does not fit the model.
    package mutating func changes(
        of transaction: Transaction, at position: Position
    ) throws(TandemError) -> [DecodedChange] {
        guard case .objects(let changes) = transaction.content, !changes.isEmpty else { return [] }
        guard let model = timeline.model(for: transaction) else {
            throw TandemError(
                .historyExpired,
                "transaction \(position) was saved under a model that the journal no longer has; "
                    + "start again from a snapshot")
        }
        let save = SaveOrigin(
            position: position, time: transaction.time, principal: transaction.principal)
        var decoded: [DecodedChange] = []
        decoded.reserveCapacity(changes.count)
        for change in changes {
            guard let entity = model.entity(tagged: change.object.tag), change.isValid(for: entity),
                (change.row ?? change.deleted).map({ $0.modelVersion == model.version }) ?? true
            else {
                throw TandemError(
                    .storage,
                    "transaction \(position) does not fit its model: object "
                        + "\(model.id(of: change.object)); run `tandem verify`")
            }
            decoded.append(DecodedChange(change, of: save, names(of: entity, in: model)))
        }
        return decoded
    }

    private mutating func names(
        of entity: CompiledEntity, in model: CompiledModel
    ) -> PropertyNames {
        let key = NamesKey(version: model.version, tag: entity.tag)
        if let known = names[key] { return known }
        let found = PropertyNames(of: entity, in: model, later: timeline.models(after: model))
        names[key] = found
        return found
    }
}

/// The save that made a change; shared by all its changes.
final class SaveOrigin: Sendable {
    let position: Position
    /// Microseconds since 1970.
    let time: Int64
    let principal: Principal

    init(position: Position, time: Int64, principal: Principal) {
        (self.position, self.time, self.principal) = (position, time, principal)
    }
}

/// A change to an object, together with the names by which its values are read.
package struct DecodedChange: Sendable {
    let save: SaveOrigin
    let names: PropertyNames
    private let change: Change
    /// Whether this is the last change of its save in the sequence.
    var isLastOfSave = false

    init(_ change: Change, of save: SaveOrigin, _ names: PropertyNames) {
        (self.change, self.save, self.names) = (change, save, names)
    }

    var id: ObjectID { names.id(of: change.object) }

    var kind: HistoryChangeKind {
        switch change.kind {
        case .insert: .insert
        case .update: .update
        case .delete: .delete
        case .touch: .touch
        }
    }

    /// The current names of the changed properties.
    var changed: Set<String> { Set(change.changed.slots.map { names.all[$0] }) }

    var before: DecodedValues? {
        switch change.kind {
        case .insert, .touch: nil
        case .delete: change.deleted.map { DecodedValues(row: $0, names: names) }
        case .update:
            change.row.map { DecodedValues(row: $0, replaced: change.before, names: names) }
        }
    }

    var after: DecodedValues? { change.row.map { DecodedValues(row: $0, names: names) } }

    /// The members added to and removed from to-many relationships, by current name.
    var members: [String: HistoryMembers] {
        var members: [String: HistoryMembers] = [:]
        for link in change.links {
            let id = names.id(of: link.target)
            members[names.all[link.slot], default: HistoryMembers()].record(
                id, isAdded: link.isAdded)
        }
        return members
    }

    func isOf(entity name: String) -> Bool { names.isOf(entity: name) }
}

/// The values of an object at a position, by current names.
struct DecodedValues: Sendable {
    /// A row of `names.entity` under its model.
    let row: Row
    /// The values that take precedence over the row's values.
    var replaced: [SlotValue] = []
    let names: PropertyNames

    /// Returns the value of a property, or nil if the object had no such attribute or to-one
    /// relationship.
    subscript(name: String) -> PropertyValue? {
        guard let slot = names.slot(of: name), !names.entity.properties[slot].isToMany else {
            return nil
        }
        return value(slot)
    }

    private func value(_ slot: Int) -> PropertyValue {
        assert(row.modelVersion == names.entity.version, "A row is read under its own model.")
        return replaced.first { $0.slot == slot }?.value
            ?? row.uncheckedValue(slot, in: names.entity)
    }

    /// The names of the attributes and to-one relationships, sorted.
    var all: [String] {
        names.entity.properties.filter {
            !$0.isToMany && names.slot(of: names.all[$0.slot]) == $0.slot
        }
        .map { names.all[$0.slot] }.sorted()
    }
}

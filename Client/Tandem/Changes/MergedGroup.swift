import TandemModel

/// The unit of a merge: one transaction, or the net effect of several.
struct MergedGroup: Sendable {
    /// The position before the merge.
    var from: UInt64
    /// The position after the merge.
    var to: UInt64
    /// The original transactions, limited to the connection's interests.
    var transactions: [Transaction]
    /// The net change to each object.
    let table: ChangeTable
    /// The position at which each row was last written, including rows without a net change.
    var versions: RowVersions
    /// Whether the stream was interrupted or the model replaced, so that all loaded data is
    /// invalid.
    var isRestart = false
    /// Whether the group belongs to a different log or epoch than the saves reported before.
    var isOtherLog = false
    /// The position that the context leaves if it moves back; nil otherwise.
    var left: UInt64?
    /// The saves that a restart skipped, if any.
    var missed: SaveGap?

    /// Creates a group with the net effect of transactions, which must share a model.
    ///
    /// Cost: linear in the number of changes, plus a sort of the changed objects if there are
    /// several transactions.
    init(from: UInt64, to: UInt64, transactions: [Transaction], model: CompiledModel) {
        self.from = from
        self.to = to
        self.transactions = transactions
        if transactions.count == 1 {
            table = ChangeTable(transactions[0].changes)
            versions = RowVersions(table, at: transactions[0].position)
            return
        }
        var written: [ObjectNumber: UInt64] = [:]
        written.reserveCapacity(transactions.reduce(0) { $0 + $1.changes.count })
        for transaction in transactions {
            for change in transaction.changes where change.kind.writesRow {
                written[change.object.number] = transaction.position
            }
        }
        versions = RowVersions(written)
        table = transactions.isEmpty ? .empty : ChangeTable(NetEffect.fold(transactions, model))
    }

    /// The net change to each object, by entity tag, then number.
    var changes: [Change] { table.all }

    /// Creates a group that undoes transactions, which must share a model.
    ///
    /// It moves a context from the position of the last transaction to the position before the
    /// first. The journal does not record the positions at which the restored rows were written.
    /// These rows get the version `to`, which is not lower than the true version, and lower than
    /// the version of every later change.
    init(undoing transactions: [Transaction], from left: UInt64, to: UInt64, model: CompiledModel) {
        from = to
        self.to = to
        self.left = left
        self.transactions = []
        var written: [ObjectNumber: UInt64] = [:]
        for change in transactions.lazy.flatMap(\.changes) where change.kind != .touch {
            written[change.object.number] = to
        }
        versions = RowVersions(written)
        let undone = NetEffect.fold(transactions, model).compactMap { change in
            model.entity(tagged: change.object.tag).flatMap { change.undone(in: $0) }
        }
        table = ChangeTable(undone)
    }

    /// Whether the group undoes saves.
    var isBackward: Bool { left != nil }

    /// Returns whether the group contains everything since a position of the context's current log.
    func begins(at position: Position, _ now: Position) -> Bool {
        !isRestart && position.isComparable(with: now) && position.number == left ?? from
    }

    /// Creates a group after which everything has to be read again.
    init(restartFrom from: UInt64, at to: UInt64, missed: SaveGap?) {
        self.from = from
        self.to = to
        transactions = []
        table = .empty
        versions = RowVersions()
        isRestart = true
        self.missed = missed
    }
}

extension Change {
    /// Returns the inverse of this change, or nil if a row is missing.
    fileprivate func undone(in entity: CompiledEntity) -> Change? {
        var back = self
        back.links = back.links.map(\.reversed).sorted(by: LinkChange.isBefore)
        switch kind {
        case .touch: break
        case .insert:
            back.kind = .delete
            (back.row, back.deleted) = (nil, row)
        case .delete:
            back.kind = .insert
            (back.row, back.deleted) = (deleted, nil)
        case .update:
            guard let row, let earlier = rowBefore(in: entity) else { return nil }
            back.row = earlier
            back.before = before.map {
                SlotValue(slot: $0.slot, value: row.uncheckedValue($0.slot, in: entity))
            }
        }
        return back
    }
}

/// Combines the changes of several transactions into one change for each object.
enum NetEffect {
    /// The combined change of an object so far.
    ///
    /// Its links are stored in a dictionary outside the change, so that the cost per link does not
    /// depend on the number of links.
    private struct Net {
        struct End: Hashable {
            var slot: Int
            var target: ObjectReference
        }

        /// The net change to a link: a removal if the link existed before, and an addition if it
        /// exists after.
        struct LinkChangePair {
            var before: LinkChange?
            var after: LinkChange?

            /// The net changes; empty if the member has its former rank again.
            var changes: [LinkChange] {
                if let before, let after, before.rank == after.rank { return [] }
                return [before, after].compactMap { $0 }
            }
        }

        var change: Change
        var links: [End: LinkChangePair] = [:]
        var slots: Set<Int> = []

        init(_ change: Change) {
            self.change = change
            fold(change.links)
        }

        mutating func fold(_ more: [LinkChange]) {
            change.links = []
            for link in more {
                let end = End(slot: link.slot, target: link.target)
                slots.insert(link.slot)
                var pair = links[end] ?? LinkChangePair(before: link.isAdded ? nil : link)
                pair.after = link.isAdded ? link : nil
                links[end] = pair.changes.isEmpty ? nil : pair
            }
        }

        /// The change with its links; links that were added and removed again are left out.
        var whole: Change {
            var whole = change
            whole.links = links.values.flatMap(\.changes).sorted(by: LinkChange.isBefore)
            for slot in slots.subtracting(links.keys.lazy.map(\.slot)) {
                whole.changed.remove(slot)
            }
            return whole
        }
    }

    /// Returns the net changes, by entity tag, then number.
    ///
    /// Cost: linear in the changes and links of all transactions, plus a sort of the changed
    /// objects.
    static func fold(_ transactions: [Transaction], _ model: CompiledModel) -> [Change] {
        var net: [ObjectNumber: Net] = [:]
        for change in transactions.lazy.flatMap(\.changes) {
            guard let entity = model.entity(tagged: change.object.tag) else { continue }
            let number = change.object.number
            guard let earlier = net[number]?.change else {
                net[number] = Net(change)
                continue
            }
            guard let joined = join(earlier, change, entity) else {
                net[number] = nil
                continue
            }
            net[number]?.change = joined
            net[number]?.fold(change.links)
        }
        let left = net.values.compactMap { reduced($0.whole, model) }
        return left.sorted { ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number) }
    }

    /// Combines two consecutive changes, except for their links; returns nil for an insert followed
    /// by a delete.
    private static func join(_ a: Change, _ b: Change, _ entity: CompiledEntity) -> Change? {
        if a.kind == .insert, b.kind == .delete { return nil }
        var result = b
        result.changed = a.changed.union(b.changed)
        switch (a.kind, b.kind) {
        case (.insert, .update), (.insert, .touch):
            result.kind = .insert
            result.row = b.row ?? a.row
            result.before = []
        case (.update, .touch):
            result.kind = .update
            result.row = a.row
            result.before = a.before
        case (.update, .update): result.before = earliest(a.before, b.before)
        case (.update, .delete):
            result.deleted = b.deleted?.replacing(
                a.before.map { ($0.slot, $0.value) }, in: entity)
        default: break
        }
        return result
    }

    private static func earliest(_ a: [SlotValue], _ b: [SlotValue]) -> [SlotValue] {
        let known = Set(a.map(\.slot))
        return (a + b.filter { !known.contains($0.slot) }).sorted { $0.slot < $1.slot }
    }

    /// Returns a change without its unchanged values, or nil if nothing is left.
    private static func reduced(_ change: Change, _ model: CompiledModel) -> Change? {
        guard let entity = model.entity(tagged: change.object.tag) else { return nil }
        var result = change
        switch change.kind {
        case .insert, .delete: return change
        case .touch: return change.changed.isEmpty ? nil : change
        case .update:
            guard let row = change.row else { return change }
            let toMany = change.changed.slots.filter {
                $0 < entity.properties.count && entity.properties[$0].isToMany
            }
            result.before = change.before.filter {
                row.uncheckedValue($0.slot, in: entity) != $0.value
            }
            result.changed = PropertyMask(result.before.map(\.slot) + toMany)
            if !result.before.isEmpty { return result }
            if toMany.isEmpty { return nil }
            return Change(.touch, change.object, changed: result.changed, links: change.links)
        }
    }
}

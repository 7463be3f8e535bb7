import TandemModel

/// What a context merges at one time: one transaction, or several folded into their net effect.
struct MergedGroup: Sendable {
    /// The position merged before.
    var from: UInt64
    /// The position merged afterwards.
    var to: UInt64
    /// The transactions as they came, of interest to the connection.
    var transactions: [Transaction]
    /// The net change of every object.
    let table: ChangeTable
    /// The position at which each row was last written, also where no net change is left.
    var versions: RowVersions
    /// Whether the stream was interrupted or the model replaced: nothing that was held counts.
    var isRestart = false
    /// Whether what comes is of another log or epoch than what was told of before.
    var isOtherLog = false
    /// The position that the context leaves, if that lies behind the one it goes to.
    var left: UInt64?
    /// The saves that a new start left out, if it left out any.
    var missed: MissedSaves?

    /// Folds transactions, all of one model, into their net effect.
    ///
    /// Cost: linear in the changes, and a sort of the objects touched when there are several transactions.
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

    /// The net change of every object, by entity tag, then number.
    var changes: [Change] { table.all }

    /// Takes transactions back, all of one model: what leads a context from behind the last of them to before the first.
    ///
    /// The journal does not say where a row was written that they altered: it has the position as its version then, which is
    /// not below its own, and below that of every later change.
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

    /// Whether it takes saves back.
    var isBackward: Bool { left != nil }

    /// Whether it tells of all that happened since a position of the log in which the context is.
    func begins(at position: Position, _ now: Position) -> Bool {
        !isRestart && position.isComparable(with: now) && position.number == left ?? from
    }

    /// A group after which everything has to be read again.
    init(restartFrom from: UInt64, at to: UInt64, missed: MissedSaves?) {
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
    /// The change that takes this one back; nil where a row is missing.
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

/// Folds the changes of several transactions into one change for each object.
enum NetEffect {
    /// What is known of an object so far; its links lie beside the change, so that many cost no more than few.
    private struct Net {
        struct End: Hashable {
            var slot: Int
            var target: ObjectReference
        }

        /// Whether a member is there before and after, and where it stands.
        struct Stay {
            var before: LinkChange?
            var after: LinkChange?

            /// What is left of it: nothing of one that is back at its place.
            var changes: [LinkChange] {
                if let before, let after, before.rank == after.rank { return [] }
                return [before, after].compactMap { $0 }
            }
        }

        var change: Change
        var links: [End: Stay] = [:]
        var slots: Set<Int> = []

        init(_ change: Change) {
            self.change = change
            take(change.links)
        }

        mutating func take(_ more: [LinkChange]) {
            change.links = []
            for link in more {
                let end = End(slot: link.slot, target: link.target)
                slots.insert(link.slot)
                var stay = links[end] ?? Stay(before: link.isAdded ? nil : link)
                stay.after = link.isAdded ? link : nil
                links[end] = stay.changes.isEmpty ? nil : stay
            }
        }

        /// The change with its links; those that came and went leave nothing.
        var whole: Change {
            var whole = change
            whole.links = links.values.flatMap(\.changes).sorted(by: LinkChange.isBefore)
            for slot in slots.subtracting(links.keys.lazy.map(\.slot)) {
                whole.changed.remove(slot)
            }
            return whole
        }
    }

    /// Costs the changes and links of all transactions.
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
            net[number]?.take(change.links)
        }
        let left = net.values.compactMap { reduced($0.whole, model) }
        return left.sorted { ($0.object.tag, $0.object.number) < ($1.object.tag, $1.object.number) }
    }

    /// One change after another, apart from links; nil when an object came and went.
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

    /// What is left of a change when values that are back where they were are left out.
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

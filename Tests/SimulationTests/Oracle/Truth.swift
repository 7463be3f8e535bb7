import TandemModel

/// The history of a world: every transaction that was proven durable, and the graph at each
/// position.
///
/// It is built from the disk alone, transaction by transaction, with code as simple as possible.
struct Truth {
    /// The identity of a user's save.
    struct SaveKey: Hashable {
        var uid: UInt32
        var id: [UInt8]
    }

    /// An object's row from a position on; the values are nil if the object is deleted.
    struct Image {
        var position: UInt64
        var version: UInt64
        var values: [PropertyValue]?
    }

    private struct LinkKey: Hashable {
        var owner: ObjectNumber
        var link: UInt16
    }

    private(set) var transactions: [EncodedTransaction] = []
    /// The size of all transactions in bytes; no answer is much larger.
    private(set) var bytes = 0
    private(set) var models: [(position: UInt64, model: CompiledModel)] = []
    private(set) var tags: [ObjectNumber: EntityTag] = [:]
    private var images: [ObjectNumber: [Image]] = [:]
    private var links: [LinkKey: [(position: UInt64, members: [ObjectNumber: Rank?])]] = [:]
    private var saves: [SaveKey: UInt64] = [:]
    /// The progress of batches, and the position at which it was reported.
    private var batches: [SaveKey: (progress: BatchProgress, position: UInt64)] = [:]
    /// The objects in the order of their insertion.
    private(set) var numbers: [ObjectNumber] = []

    /// The number of positions for which a save is known by its id.
    let savesKept: UInt64

    init(savesKept: UInt64) { self.savesKept = savesKept }

    /// Returns whether a save at `position` must still be known.
    func remembers(_ position: UInt64) -> Bool { last - min(last, position) < savesKept }

    /// The last position.
    var last: UInt64 { UInt64(transactions.count) }

    subscript(position: UInt64) -> EncodedTransaction { transactions[Int(position) - 1] }

    func position(of save: SaveKey) -> UInt64? { saves[save] }

    func progress(of batch: SaveKey) -> (progress: BatchProgress, position: UInt64)? {
        batches[batch]
    }

    func model(at position: UInt64) -> CompiledModel? {
        models.last { $0.position <= position }?.model
    }

    /// Returns an object at a position; nil if it did not exist.
    func image(_ number: ObjectNumber, at position: UInt64) -> Image? {
        guard let image = images[number]?.last(where: { $0.position <= position }),
            image.values != nil
        else { return nil }
        return image
    }

    /// Returns the members of a relationship, in their order or by number.
    func members(
        of owner: ObjectNumber, _ link: UInt16, at position: UInt64
    ) -> [ObjectNumber] {
        let last = links[LinkKey(owner: owner, link: link)]?.last { $0.position <= position }
        let members = last?.members ?? [:]
        return members.sorted { a, b in
            guard let first = a.value, let second = b.value, first != second else {
                return a.key < b.key
            }
            return first < second
        }.map(\.key)
    }

    /// Returns the objects of an entity and its subentities at a position.
    func objects(of entity: CompiledEntity, at position: UInt64) -> [ObjectNumber] {
        numbers.filter { number in
            entity.includes(tags[number] ?? 0) && image(number, at: position) != nil
        }
    }

    /// Returns the truth without the transactions after a position.
    func cut(to position: UInt64) throws(Violation) -> Truth {
        var cut = Truth(savesKept: savesKept)
        for transaction in transactions.prefix(Int(position)) { try cut.append(transaction) }
        return cut
    }

    // MARK: Building

    mutating func append(_ encoded: EncodedTransaction) throws(Violation) {
        bytes += encoded.bytes.count
        let position = last + 1
        let transaction: Transaction
        do {
            transaction = try encoded.decoded()
        } catch {
            throw Violation(3, "transaction \(position) cannot be decoded: \(error)")
        }
        guard transaction.position == position else {
            throw Violation(2, "transaction \(transaction.position) lies at \(position)")
        }
        transactions.append(encoded)
        if let progress = transaction.batch {
            try append(progress, of: transaction)
        } else if !transaction.saveID.isEmpty {
            let key = SaveKey(uid: transaction.principal.uid, id: transaction.saveID)
            if let first = saves.updateValue(position, forKey: key) {
                throw Violation(3, "the save at \(first) was applied again at \(position)")
            }
        }
        switch transaction.content {
        case .model(let bytes): try install(bytes, position)
        case .objects(let changes): for change in changes { try apply(change, position) }
        }
    }

    /// Checks that a batch processes each object once, in order, until its end.
    private mutating func append(
        _ progress: BatchProgress, of transaction: Transaction
    ) throws(Violation) {
        let key = SaveKey(uid: transaction.principal.uid, id: transaction.saveID)
        let position = transaction.position
        if let (before, earlier) = batches.updateValue((progress, position), forKey: key) {
            let isNext =
                before.reached < progress.reached
                || (transaction.changes.isEmpty && before.reached == progress.reached)
            guard isNext, before.done <= progress.done, !before.hasEnded else {
                throw Violation(
                    3,
                    "a batch had progress \(before) at \(earlier), but has \(progress) at \(position)"
                )
            }
        }
        guard saves[key] == nil, !transaction.changes.isEmpty || progress.hasEnded else {
            throw Violation(3, "the transaction of a batch at \(position) has no progress")
        }
    }

    private mutating func install(_ bytes: [UInt8], _ position: UInt64) throws(Violation) {
        var reader = ByteReader(bytes)
        guard let model = try? CompiledModel(from: &reader) else {
            throw Violation(3, "the model at \(position) cannot be read")
        }
        let old = models.last?.model
        models.append((position, model))
        guard let old else { return }
        // Rows keep their values by name; added properties have their defaults.
        for number in numbers {
            guard let image = image(number, at: position), let values = image.values,
                let before = old.entity(tagged: tags[number] ?? 0),
                let after = model.entity(named: before.name)
            else { continue }
            let moved = after.properties.map { property in
                before.slot(of: property.name).map { values[$0] } ?? after.defaults[property.slot]
            }
            images[number]?.append(
                Image(position: position, version: image.version, values: moved))
        }
    }

    private mutating func apply(_ change: Change, _ position: UInt64) throws(Violation) {
        let number = change.object.number
        guard let entity = model(at: position)?.entity(tagged: change.object.tag) else {
            throw Violation(3, "transaction \(position) names an unknown entity")
        }
        let exists = image(number, at: position) != nil
        guard exists == (change.kind != .insert) else {
            throw Violation(3, "transaction \(position) does not fit object \(number)")
        }
        if change.kind == .insert {
            guard tags.updateValue(change.object.tag, forKey: number) == nil else {
                throw Violation(3, "number \(number) is used again at \(position)")
            }
            numbers.append(number)
        }
        switch change.kind {
        case .insert, .update:
            let values = change.row?.values(in: entity)
            images[number, default: []].append(
                Image(position: position, version: position, values: values))
        case .delete:
            images[number]?.append(Image(position: position, version: position, values: nil))
        case .touch: break
        }
        for link in change.links { try apply(link, number, entity, position) }
    }

    private mutating func apply(
        _ link: LinkChange, _ owner: ObjectNumber, _ entity: CompiledEntity, _ position: UInt64
    ) throws(Violation) {
        guard let relationship = entity.properties[link.slot].relationship else {
            throw Violation(3, "transaction \(position) has a link for an attribute")
        }
        let key = LinkKey(owner: owner, link: relationship.linkID)
        var members = links[key]?.last?.members ?? [:]
        // A removal has the rank that the member had.
        let known = members.updateValue(link.rank, forKey: link.target.number)
        let isNew = link.isAdded ? known == nil : known == .some(link.rank)
        guard isNew, (link.rank != nil) == relationship.isOrdered else {
            throw Violation(3, "transaction \(position) contradicts the links of \(owner)")
        }
        if !link.isAdded { members.removeValue(forKey: link.target.number) }
        links[key, default: []].append((position, members))
    }
}

/// A violation of a law.
struct Violation: Error, Hashable, CustomStringConvertible {
    /// The law's number; 0 for a daemon that makes no progress.
    var law: Int
    var what: String

    init(_ law: Int, _ what: String) {
        self.law = law
        self.what = what
    }

    var description: String { "law \(law): \(what)" }
}

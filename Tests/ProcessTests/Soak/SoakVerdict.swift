import FoundationEssentials
import TandemIO
import TandemModel
import TandemStore

/// What must be true when all is over, told from what everybody noted.
struct SoakVerdict {
    let transactions: [EncodedTransaction]
    private let saves: [String: UInt64]
    /// Positions that touch items, in order.
    private let touching: [UInt64]
    private(set) var problems: [String] = []

    /// Reads what happened; a save that happened twice is noted.
    init(_ transactions: [EncodedTransaction]) throws {
        self.transactions = transactions
        var saves: [String: UInt64] = [:]
        var touching: [UInt64] = []
        var items: EntityTag?
        var numbers: Set<ObjectNumber> = []
        for encoded in transactions {
            let transaction = try encoded.decoded()
            if case .model(let bytes) = transaction.content {
                var reader = ByteReader(bytes)
                items = try CompiledModel(from: &reader).entity(named: "Item")?.tag
            }
            if !transaction.saveID.isEmpty {
                let id = String(decoding: transaction.saveID, as: UTF8.self)
                if let first = saves.updateValue(transaction.position, forKey: id) {
                    problems.append("law 3: \(id) is saved at \(first) and \(transaction.position)")
                }
            }
            if transaction.changes.contains(where: { $0.object.tag == items }) {
                touching.append(transaction.position)
            }
            for change in transaction.changes where change.kind == .insert {
                if !numbers.insert(change.object.number).inserted {
                    problems.append("law 3: object \(change.object.number) is inserted twice")
                }
            }
        }
        (self.saves, self.touching) = (saves, touching)
    }

    /// Law 3: what was answered is there, where the answer said; what was refused is not.
    mutating func judge(_ record: SoakSaver.Record) {
        for (id, position) in record.positions where saves[id] != position {
            problems.append("law 3: \(id) was answered with \(position), not \(saves[id] ?? 0)")
        }
        for id in record.refused where saves[id] != nil {
            problems.append("law 3: \(id) was refused, and is there")
        }
    }

    /// Every save was answered in the end, so there are no others.
    mutating func judge(total: Int) {
        let own = saves.keys.filter { $0.hasPrefix("saver") }.count
        if own != total { problems.append("law 3: \(total) saves were answered, \(own) are there") }
    }

    /// Law 2: each save once, in order, but for those that a reader was told it missed.
    mutating func judge(_ life: WatchedLife) {
        let end = max(life.through, life.heard.last ?? 0)
        let expected = touching[count(through: life.from)..<count(through: end)].filter {
            position in
            !life.missed.contains { $0.contains(position) }
        }
        guard life.heard != expected else { return }
        let (heard, wanted) = (Set(life.heard), Set(expected))
        problems.append(
            "law 2: \(life.name) from \(life.from) to \(end), missed \(life.missed): "
                + "not heard \(wanted.subtracting(heard).sorted().prefix(5)), "
                + "heard too much \(heard.subtracting(wanted).sorted().prefix(5)), "
                + "\(life.heard.count) of \(expected.count)")
    }

    /// How many of the positions that touch items are not above one.
    private func count(through end: UInt64) -> Int {
        var range = 0..<touching.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                touching[middle] <= end ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Law 6: the store is what the transactions give, and so is a backup at its position.
    mutating func judge(_ store: String, through end: UInt64, _ place: Place) throws {
        let folder = place.path + "/replayed-\(end)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let expected = try dump(folder, through: end)
        let found = try dump(store + "/store", through: end)
        if found != expected { problems.append("law 6: \(store) is not its replay to \(end)") }
    }

    /// The lines of a store after what it lacks was applied to it.
    private func dump(_ path: String, through end: UInt64) throws -> [String] {
        let store = try Store.open(
            path: path, newIdentity: StoreIdentity(log: LogID(high: 0, low: 0), epoch: 1))
        defer { store.close() }
        for transaction in transactions[Int(store.appliedPosition)..<Int(end)] {
            try store.apply(transaction)
        }
        var lines: [String] = []
        try store.dump { lines.append($0) }
        return lines
    }
}

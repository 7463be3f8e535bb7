import FoundationEssentials
import TandemIO
import TandemModel
import TandemStore

/// The checks at the end of a soak, made from the records of all clients.
struct SoakVerdict {
    let transactions: [EncodedTransaction]
    private let saves: [String: UInt64]
    /// The positions of transactions that change items, in order.
    private let touching: [UInt64]
    private(set) var problems: [String] = []

    /// Reads the transactions, and reports saves and inserts that occur twice.
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

    /// Checks law 3: saves are at the positions in their answers, and refused saves do not exist.
    mutating func check(_ record: SoakSaver.Record) {
        for (id, position) in record.positions where saves[id] != position {
            problems.append("law 3: \(id) was answered with \(position), not \(saves[id] ?? 0)")
        }
        for id in record.refused where saves[id] != nil {
            problems.append("law 3: \(id) was refused, and is there")
        }
    }

    /// Checks that the journal has no other saves, because every save was eventually answered.
    mutating func check(total: Int) {
        let own = saves.keys.filter { $0.hasPrefix("saver") }.count
        if own != total {
            problems.append("law 3: \(total) saves were answered, but the journal has \(own)")
        }
    }

    /// Checks law 2: a watcher received each save once, in order, except the ones reported as
    /// missed.
    mutating func check(_ life: WatchedLife) {
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

    /// Returns the number of positions in `touching` up to `end`.
    private func count(through end: UInt64) -> Int {
        var range = 0..<touching.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                touching[middle] <= end ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Checks law 6: a store, or a backup at its position, equals a replay of the transactions.
    mutating func check(_ store: String, through end: UInt64, _ place: Place) throws {
        let folder = place.path + "/replayed-\(end)"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let expected = try dump(folder, through: end)
        let found = try dump(store + "/store", through: end)
        if found != expected { problems.append("law 6: \(store) is not its replay to \(end)") }
    }

    /// Returns the dump of a store after applying the transactions that it lacks.
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

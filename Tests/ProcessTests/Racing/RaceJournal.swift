import Tandem
import TandemModel
import Testing

/// The outcome of a race, computed from the journal's transactions alone.
struct RaceJournal {
    /// The values of `total`, `one` and `two` after the last save, the same in both objects.
    private(set) var values = [0, 0, 0]
    /// The number of saves by each racer that changed the two objects.
    private(set) var saves: [String: Int] = [:]
    /// The violations of the rules.
    private(set) var problems: [String] = []

    init(_ container: PersistentContainer, after start: UInt64) throws {
        let model = try container.compiledModel()
        let entity = try #require(model.entity(named: "Lap"))
        let slots = try ["total", "one", "two"].map { try #require(entity.slot(of: $0)) }
        var pages = try container.pages(after: start)
        while !pages.isComplete {
            let page = try container.next(&pages)
            for encoded in page.transactions { fold(try encoded.decoded(), entity, slots) }
        }
    }

    private mutating func fold(
        _ transaction: Transaction, _ entity: CompiledEntity, _ slots: [Int]
    ) {
        func values(_ row: Row?) -> [Int] {
            slots.map { Int(row?.uncheckedValue($0, in: entity).json.int ?? -1) }
        }
        let author = transaction.principal.author
        let name = entity.slot(of: "name") ?? 0
        let changes = transaction.changes.filter { change in
            let text = change.row?.uncheckedValue(name, in: entity).json.string
            return text == "left" || text == "right"
        }
        guard !changes.isEmpty else { return }
        saves[author, default: 0] += 1
        let after = changes.map { values($0.row) }
        // Every save changes both objects to the same values, and starts from those of the previous
        // save.
        if after.count != 2 || after[0] != after[1] {
            problems.append("half a save at \(transaction.position): \(after)")
        }
        for change in changes where values(change.rowBefore(in: entity)) != self.values {
            problems.append("save \(transaction.position) does not follow \(self.values)")
        }
        self.values = after[0]
    }
}

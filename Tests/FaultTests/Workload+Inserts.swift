import TandemModel
import TandemWire

/// A batch insert, part by part.
struct InsertRecord {
    let id: [UInt8]
    /// How many rows each part has: the first takes two transactions.
    let parts = [70, 9]
    /// Whether it is to be repeated in the next life.
    var isOpen = true
    var answer: BatchInserted?

    var rows: Int { parts.reduce(0, +) }

    /// What stands for so many rows.
    func hash(_ rows: Int) -> StableHash { StableHash(id + [UInt8(rows)]) }
}

/// Batch inserts of a workload, with saves between their parts.
extension Workload {
    /// How many there are: their rows make the images larger.
    private static let insertsAtMost = 2

    mutating func insertRows() throws {
        guard inserts.count < Self.insertsAtMost else { return }
        saves += 1
        inserts.append(InsertRecord(id: Array("\(name) \(saves)".utf8)))
        try run(inserts.count - 1)
    }

    private mutating func run(_ index: Int) throws {
        let record = inserts[index]
        var first = 0
        var after: UInt64 = 0
        for count in record.parts {
            let part = try part(record, first, count, after)
            let client = clients[0]
            let sent = try client.send(.insert(part))
            try save(count: 2)
            guard case .inserted(let answer) = try client.answer(to: sent), answer.failure == nil
            else { return inserts[index].isOpen = false }
            after = answer.position
            first += count
            note(answer, index)
        }
        inserts[index].isOpen = false
    }

    private mutating func part(
        _ record: InsertRecord, _ first: Int, _ count: Int, _ after: UInt64
    ) throws -> BatchInsert {
        let model = clients[0].entities
        let tag = model.entity(named: "Tag")
        let rows = try (first..<first + count).map { row in
            let text = Value.string("\(name) \(row)")
            return BatchInsert.Row(
                number: try number() ?? 0, hash: record.hash(row + 1),
                values: [SlotValue(slot: tag?.slot(of: "label") ?? 0, value: text)])
        }
        return BatchInsert(
            batchID: record.id, modelVersion: model.version, entity: tag?.tag ?? 0,
            first: UInt64(first), before: record.hash(first), rows: rows,
            isLast: first + count == record.rows, after: after)
    }

    private mutating func note(_ answer: BatchInserted, _ index: Int) {
        if let first = inserts[index].answer, first.hasEnded, first != answer, answer.hasEnded {
            problems.append("law 3: a batch answered with \(first) is answered with \(answer)")
        }
        inserts[index].answer = answer
    }

    /// Sends those once more that were not answered to their end, with other numbers.
    mutating func repeatInserts() throws {
        for index in inserts.indices where inserts[index].isOpen { try run(index) }
    }

    /// What is wrong with a journal's batch inserts: each row is there once, and all that was answered is.
    func violations(ofInsertsIn transactions: [Transaction]) -> [String] {
        inserts.flatMap { record -> [String] in
            let parts = transactions.filter { $0.saveID == record.id }
            let done = parts.map { Int($0.batch?.done ?? 0) }
            let made = parts.reduce(0) { $0 + $1.insertedObjects.count }
            var violations: [String] = []
            if done != done.sorted() || made != done.last ?? 0 || made > record.rows {
                violations.append("law 3: a batch of \(record.rows) rows inserted \(made): \(done)")
            }
            if let answer = record.answer, answer.rows > UInt64(made) {
                violations.append("law 3: a batch answered with \(answer) has \(made) rows")
            }
            return violations
        }
    }
}

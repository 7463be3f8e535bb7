import TandemModel
import TandemWire

/// A batch insert, sent in chunks.
struct InsertRecord {
    let id: [UInt8]
    /// The numbers of rows of the chunks; the first chunk takes two transactions.
    let parts = [70, 9]
    /// Whether the batch is to be repeated in the next life.
    var isOpen = true
    var answer: BatchInsertAnswer?

    var rows: Int { parts.reduce(0, +) }

    /// Returns a hash that stands in for the hash of the first `rows` rows.
    func hash(_ rows: Int) -> StableHash { StableHash(id + [UInt8(rows)]) }
}

/// Batch inserts of a workload, with saves between their chunks.
extension Workload {
    /// The maximum number of batch inserts, limited because their rows make the images larger.
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
            recordAnswer(answer, index)
        }
        inserts[index].isOpen = false
    }

    private mutating func part(
        _ record: InsertRecord, _ first: Int, _ count: Int, _ after: UInt64
    ) throws -> BatchInsert {
        let model = clients[0].entities
        let tag = model.entity(named: "Tag")
        let rows = try (first..<first + count).map { row in
            let text = PropertyValue.string("\(name) \(row)")
            return BatchInsert.Row(
                number: try number() ?? 0, hash: record.hash(row + 1),
                values: [SlotValue(slot: tag?.slot(of: "label") ?? 0, value: text)])
        }
        return BatchInsert(
            batchID: record.id, modelVersion: model.version, entity: tag?.tag ?? 0,
            first: UInt64(first), before: record.hash(first), rows: rows,
            isLast: first + count == record.rows, after: after)
    }

    private mutating func recordAnswer(_ answer: BatchInsertAnswer, _ index: Int) {
        if let first = inserts[index].answer, first.hasEnded, first != answer, answer.hasEnded {
            problems.append("law 3: a batch answered with \(first) is answered with \(answer)")
        }
        inserts[index].answer = answer
    }

    /// Repeats the batch inserts that were not answered completely, with other numbers.
    mutating func repeatInserts() throws {
        for index in inserts.indices where inserts[index].isOpen { try run(index) }
    }

    /// Returns the violations in a journal's batch inserts: each row must occur once, and all
    /// answered rows must exist.
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

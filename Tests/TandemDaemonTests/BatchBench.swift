import TandemModel
import TandemQuery
import TandemWire
import Testing

@testable import TandemDaemon

/// Batches on an ``EngineBench``.
extension EngineBench {
    /// Returns a batch over the matching objects of an entity; without values it deletes them.
    func batch(
        _ entity: String, _ format: String? = nil, set values: [String: PropertyValue]? = nil,
        id: [UInt8] = [7], limit: Int? = nil
    ) throws -> Batch {
        let request = FetchDescriptor(
            entity: entity, predicate: try format.map { try ObjectPredicate(format: $0) },
            limit: limit)
        let slots = try values?.map {
            SlotValue(
                slot: try #require(try bench.entity(entity).slot(of: $0.key)), value: $0.value)
        }
        return Batch(
            batchID: id, contentHash: StableHash(Array("\(format ?? "") \(entity)".utf8)),
            modelVersion: try bench.model.version, request: request,
            work: slots.map { .update($0) } ?? .delete)
    }

    /// Returns a stand-in for the hash of a batch insert's first `rows` rows.
    func hash(_ rows: Int, salt: String = "") -> StableHash {
        StableHash(Array("\(salt)\(rows)".utf8))
    }

    /// Returns a chunk of a batch insert; its objects are numbered consecutively from `number`.
    func part(
        _ entity: String, _ rows: Range<Int>, from number: UInt64, isLast: Bool = false,
        id: [UInt8] = [7], policy: MergePolicy = .error, after: UInt64 = 0, salt: String = "",
        _ values: (Int) -> [String: PropertyValue] = { _ in [:] }
    ) throws -> BatchInsert {
        let entity = try bench.entity(entity)
        let content = try rows.map { row in
            BatchInsert.Row(
                number: number + UInt64(row - rows.lowerBound), hash: hash(row + 1, salt: salt),
                values: try values(row).map {
                    SlotValue(slot: try #require(entity.slot(of: $0.key)), value: $0.value)
                }.sorted { $0.slot < $1.slot })
        }
        return BatchInsert(
            batchID: id, policy: policy, modelVersion: try bench.model.version,
            entity: entity.tag, first: UInt64(rows.lowerBound),
            before: hash(rows.lowerBound, salt: salt), rows: content, isLast: isLast, after: after)
    }

    /// Inserts objects of an entity, 500 per save.
    func fill(
        _ client: Peer, _ entity: String, _ numbers: ClosedRange<UInt64>,
        _ values: (UInt64) -> [String: PropertyValue] = { _ in [:] }
    ) throws {
        for start in stride(from: numbers.lowerBound, through: numbers.upperBound, by: 500) {
            let end = min(start + 499, numbers.upperBound)
            try client.save(
                try (start...end).map { try bench.insert(entity, $0, values($0)) })
        }
    }

    /// Returns the transactions of a batch, and the number of objects processed after each.
    func transactions(of batchID: [UInt8]) throws -> [(transaction: Transaction, done: UInt64)] {
        try bench.transactions().compactMap { transaction in
            guard transaction.saveID == batchID else { return nil }
            return transaction.batch.map { (transaction, $0.done) }
        }
    }

    /// Runs turns until this many transactions of a batch are durable.
    func turn(until parts: Int, of batchID: [UInt8] = [7]) throws {
        var (seen, count) = (UInt64(0), 0)
        for _ in 0..<2_000 {
            let news = try bench.transactions(from: seen + 1)
            count += news.count { $0.saveID == batchID && $0.batch != nil }
            seen = position.number
            if count >= parts { return }
            try turn()
        }
    }

    func count(_ entity: String, _ client: Peer, _ format: String? = nil) throws -> Int {
        let request = FetchDescriptor(
            entity: entity, predicate: try format.map { try ObjectPredicate(format: $0) })
        return Int(try client.fetch(Fetch(request: request, kind: .count)).count)
    }
}

extension Peer {
    /// Runs a batch and returns its answer.
    func run(_ batch: Batch) throws -> BatchAnswer {
        switch try ask(.batch(batch)) {
        case .batched(let answer): return answer
        case .failure(let error): throw error
        default: throw TandemError(.usage, "an unexpected answer to a batch")
        }
    }

    /// Sends a chunk of a batch insert and returns the answer.
    func run(_ part: BatchInsert) throws -> BatchInsertAnswer {
        switch try ask(.insert(part)) {
        case .inserted(let answer): return answer
        case .failure(let error): throw error
        default: throw TandemError(.usage, "an unexpected answer to rows")
        }
    }

    /// The first number of the client's lease.
    var lease: UInt64 { get throws { try #require(welcome?.lease).first } }

    /// Returns the answer to a batch that was sent, or nil if it has not arrived.
    func batched(_ id: UInt32) throws -> BatchAnswer? {
        try read()
        for envelope in received where envelope.id == id {
            if case .batched(let answer) = envelope.message { return answer }
        }
        return nil
    }
}

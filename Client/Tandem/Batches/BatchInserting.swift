import TandemModel
import TandemQuery
import TandemWire

/// A batch insert under way: the rows of its next part, and how far it came.
///
/// It holds one part and one row more, whatever there is to come. Rows that the daemon has already, from an earlier attempt, are
/// passed over as they come; what stands for them has to be the same.
///
/// State:
/// - `part`: rows that came and are not known to be inserted, and what stands for all rows up to each.
/// - `ahead`: the row behind the part, which shows that the part is not the last.
/// - `known`: how far the daemon has come, where that is beyond the rows that have come here.
final class BatchInserting {
    private struct Row {
        var values: BatchValues
        /// What stands for all rows up to this one.
        var hash: StableHash
    }

    let entity: String
    private let policy: MergePolicy
    private let id: [UInt8]
    private let author: String?
    private let context: String
    /// The most bytes that the rows of a part are expected to take.
    private let partBytes: Int
    private var part: [Row] = []
    private var bytes = 0
    /// The numbers of the part's objects, as far as there are any.
    var numbers: [ObjectNumber] = []
    private var ahead: Row?
    private var known: (rows: Int, hash: StableHash)?
    /// What stands for all rows that came, and for those that are inserted.
    private var taken: StableHash
    private var inserted: StableHash
    /// How many rows are inserted.
    private(set) var count = 0
    /// The position of the last transaction.
    private(set) var position: UInt64?
    private var isExhausted = false
    private var asks: Bool
    private var hasEnded = false

    /// A batch under an id of its own, or one that may have begun before.
    init(
        entity: String, policy: MergePolicy, id: [UInt8], mayBeRepeat: Bool, author: String?,
        context: String, partBytes: Int = WireLimits.frameBytes
    ) {
        self.entity = entity
        self.policy = policy
        self.id = id
        self.author = author
        self.context = context
        self.partBytes = partBytes
        asks = mayBeRepeat
        taken = StableHash(Array(entity.utf8) + [0, policy.rawValue])
        inserted = taken
    }

    /// Whether the next part needs more rows.
    var wantsMore: Bool { !asks && !isExhausted && ahead == nil }

    /// Whether all rows are inserted and the daemon knows that these are all.
    var isDone: Bool { isExhausted && part.isEmpty && ahead == nil && hasEnded }

    /// How many rows are without a number.
    var lacksNumber: Bool { numbers.count < part.count }

    /// How many rows it holds.
    var heldRows: Int { part.count + (ahead == nil ? 0 : 1) }

    /// How many rows the daemon has, from this attempt or an earlier one.
    var knownRows: Int { known?.rows ?? count }

    // MARK: Rows

    /// Takes the next row.
    func add(_ values: BatchValues) throws(TandemError) {
        taken = values.hash(behind: taken)
        try place(Row(values: values, hash: taken))
    }

    /// Notes that there are no more rows.
    func end() throws(TandemError) {
        isExhausted = true
        if known != nil { throw isOther }
    }

    private func place(_ row: Row) throws(TandemError) {
        if let known {
            try passOver(row, known)
            return
        }
        let rowBytes = row.values.expectedBytes
        let isFull = part.count == WireLimits.batchObjects || bytes + rowBytes > partBytes
        guard part.isEmpty || !isFull else {
            ahead = row
            return
        }
        bytes += rowBytes
        part.append(row)
    }

    /// Drops a row that the daemon has.
    private func passOver(
        _ row: Row, _ known: (rows: Int, hash: StableHash)
    ) throws(TandemError) {
        count += 1
        inserted = row.hash
        guard count == known.rows else { return }
        guard row.hash == known.hash else { throw isOther }
        self.known = nil
    }

    private var isOther: TandemError {
        TandemError(
            .usage,
            "this id was used for other rows, or for something else; choose a new id")
    }

    // MARK: Messages

    /// The next part under a model, up to a row that does not fit it; and what is wrong with that one.
    func message(_ model: CompiledModel) throws(TandemError) -> (BatchInsert, TandemError?) {
        guard let entity = model.entity(named: entity) else {
            throw TandemError(.unknownEntity, "no entity is named \(entity)")
        }
        var message = BatchInsert(
            batchID: id, author: author, context: context, policy: policy,
            modelVersion: model.version, entity: entity.tag, first: UInt64(count),
            before: inserted, after: position ?? 0)
        message.rows.reserveCapacity(part.count)
        for (row, number) in zip(part, numbers) {
            do throws(TandemError) {
                message.rows.append(
                    try row.values.message(number, row.hash, entity, model))
            } catch {
                return (message, failure(error, at: count + message.rows.count))
            }
        }
        message.isLast = isExhausted && ahead == nil
        return (message, nil)
    }

    /// Notes what the daemon answered to a part.
    func settle(_ answer: BatchInserted) throws(TandemError) {
        asks = false
        let rows = Int(clamping: answer.rows)
        guard rows >= count else {
            throw TandemError(
                .unknownOutcome,
                "the daemon has \(rows) rows of the batch, and had \(count) before; look at the "
                    + "objects and begin a new batch")
        }
        position = max(position ?? 0, answer.position)
        hasEnded = answer.hasEnded || (isExhausted && rows == 0 && part.isEmpty)
        let kept = part.dropFirst(rows - count)
        numbers = Array(numbers.dropFirst(part.count - kept.count))
        let gone = part.prefix(part.count - kept.count)
        inserted = gone.last?.hash ?? inserted
        count += gone.count
        part = Array(kept)
        bytes = part.reduce(0) { $0 + $1.values.expectedBytes }
        try meet(rows, answer.hash)
        if let error = answer.failure {
            throw failure(error, at: answer.failedRow.map { Int(clamping: $0) })
        }
    }

    /// Compares what the daemon has with what came; goes on with the row that showed that there is more.
    private func meet(_ rows: Int, _ hash: StableHash) throws(TandemError) {
        if rows > count {
            known = (rows, hash)
            if isExhausted, ahead == nil { throw isOther }
        } else if rows > 0, hash != inserted {
            throw isOther
        }
        guard part.isEmpty, let row = ahead else { return }
        ahead = nil
        try place(row)
        if isExhausted, known != nil { throw isOther }
    }

    /// An error that names the row.
    private func failure(_ error: TandemError, at row: Int?) -> TandemError {
        guard let row else { return error }
        var error = error
        error.row = row
        error.message = "row \(row): \(error.message)"
        return error
    }
}

extension BatchValues {
    /// The row of a part under a model.
    fileprivate func message(
        _ number: ObjectNumber, _ hash: StableHash, _ entity: CompiledEntity,
        _ model: CompiledModel
    ) throws(TandemError) -> BatchInsert.Row {
        let (values, links) = try resolved(in: entity, model)
        return BatchInsert.Row(
            number: number, hash: hash,
            // Null is said only where the daemon would put a default else.
            values: values.filter { !$0.value.isNull || !entity.defaults[$0.slot].isNull },
            links: links)
    }

    /// About the bytes that it takes in a part.
    fileprivate var expectedBytes: Int {
        attributes.values.reduce(56) { bytes, value in
            switch value {
            case .string(let text), .url(let text): bytes + 4 + text.utf8.count
            case .data(let content): bytes + 4 + content.count
            default: bytes + 24
            }
        } + objects.values.reduce(0) { $0 + 16 * $1.count }
    }

    /// What stands for this row behind others: the same in every process, whatever the model.
    fileprivate func hash(behind before: StableHash) -> StableHash {
        var writer = ByteWriter()
        writer.uint64(before.first)
        writer.uint64(before.second)
        if let identity {
            writer.blob(identity)
            return StableHash(writer.bytes)
        }
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            writer.string(name)
            value.encode(into: &writer)
        }
        writer.uint8(0)
        for (name, ids) in objects.sorted(by: { $0.key < $1.key }) {
            writer.string(name)
            writer.count(ids.count)
            for id in ids { writer.string(id.description) }
        }
        return StableHash(writer.bytes)
    }
}

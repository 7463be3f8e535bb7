import TandemModel
import TandemQuery
import TandemWire

/// The state of a running batch insert: the rows of its next chunks, and its progress.
///
/// While the daemon inserts one chunk, the next chunk is filled and sent, so that neither side
/// waits for the other. At most two chunks and one row are held in memory, whatever the length of
/// the sequence. Rows that the daemon already has from an earlier attempt are skipped as they
/// arrive; their hash has to match.
///
/// State:
/// - `rows`: the rows that have arrived but are not known to be inserted, each with the hash of all
///   rows up to it.
/// - `sent`, `inFlight`: the number of sent rows among these, and the promises of the answers to
///   their chunks.
/// - `cut`: the end of the chunk after the sent rows, or nil while the chunk may still grow.
/// - `known`: the daemon's progress, while it is ahead of the rows that have arrived at the sender.
final class BatchInsertSender {
    private let order: BatchInsertOrder
    private var rows: [InsertRow] = []
    private var sent = 0
    private var cut: Int?
    /// The estimated size in bytes of the rows after the sent ones, up to the cut.
    private var bytes = 0
    /// The object numbers of the first rows in `rows`; the later rows have none yet.
    var numbers: [ObjectNumber] = []
    private var inFlight: [ReplyPromise<DaemonMessage>] = []
    /// The number of consecutive chunks that failed because the model had changed.
    var modelAttempts = 0
    private var known: BatchPrefix?
    /// The rows that have arrived; their number includes rejected rows.
    private var arrived: BatchPrefix
    /// The inserted rows.
    private var inserted: BatchPrefix
    /// The position of the last transaction.
    private(set) var position: UInt64?
    private var isExhausted = false
    private var mustQueryProgress: Bool
    private var hasEnded = false

    /// Creates a batch insert under a new id, or resumes one under an existing id.
    init(
        entity: String, policy: MergePolicy, id: [UInt8], mayBeRepeat: Bool, author: String?,
        context: String, chunkBytes: Int = WireLimits.frameBytes,
        refusing: ((BatchRefusals) throws -> Void)? = nil,
        numbering: ((BatchNumbers) throws -> Void)? = nil
    ) {
        order = BatchInsertOrder(
            entity: entity, policy: policy, id: id, author: author, context: context,
            chunkBytes: chunkBytes, refusing: refusing, numbering: numbering)
        mustQueryProgress = mayBeRepeat
        arrived = BatchPrefix(
            rows: 0, hash: StableHash(Array(entity.utf8) + [0, policy.rawValue]))
        inserted = arrived
    }

    /// The entity's name.
    var entity: String { order.entity }

    /// The number of inserted rows.
    var count: Int { inserted.rows }

    /// The maximum number of unanswered chunks: one that the daemon inserts, and one in its queue.
    static let maximumInFlight = 2

    /// Whether the next chunk needs more rows and no answer has to be awaited first.
    var wantsMore: Bool {
        !mustQueryProgress && !isExhausted && cut == nil && inFlight.count < Self.maximumInFlight
    }

    /// Whether the next chunk, or the request for the batch's progress, can be sent now.
    var canSend: Bool {
        if mustQueryProgress { return inFlight.isEmpty }
        if cut == nil { return isExhausted && rows.isEmpty && inFlight.isEmpty && !hasEnded }
        return inFlight.count < Self.maximumInFlight
    }

    /// Whether all rows are inserted and the daemon knows that the batch is complete.
    var isDone: Bool { isExhausted && rows.isEmpty && inFlight.isEmpty && hasEnded }

    /// Whether the daemon has yet to report the progress of an earlier attempt.
    var isUnsettled: Bool { mustQueryProgress }

    /// Whether rows of the next chunk lack an object number.
    var lacksNumber: Bool { numbers.count < cut ?? sent }

    /// The number of rows held.
    var heldRows: Int { rows.count }

    /// The number of rows that the daemon has inserted, in this attempt or an earlier one.
    var knownRows: Int { known?.rows ?? count }

    // MARK: Rows

    /// Adds the next row.
    ///
    /// Throws `usage` if the rows differ from the rows of an earlier attempt.
    func add(_ values: BatchValues) throws(TandemError) {
        arrived.hash = values.hash(after: arrived.hash)
        let row = InsertRow(
            number: arrived.rows, values: values, hash: arrived.hash, bytes: values.expectedBytes)
        arrived.rows += 1
        if let known { return try skip(row, known) }
        rows.append(row)
        addToChunk(rows.count - 1)
    }

    /// Marks the end of the rows.
    ///
    /// Throws `usage` if an earlier attempt had more rows.
    func end() throws(TandemError) {
        isExhausted = true
        if known != nil { throw isOther }
        if cut == nil, sent < rows.count { cut = rows.count }
    }

    /// Adds a row to the chunk being filled, or ends that chunk if the row does not fit.
    private func addToChunk(_ index: Int) {
        guard cut == nil else { return }
        let isFull =
            index - sent == WireLimits.batchObjects || bytes + rows[index].bytes > order.chunkBytes
        if index > sent, isFull { cut = index } else { bytes += rows[index].bytes }
    }

    /// Determines the next chunk among the rows that were not sent.
    private func markChunkEnd() {
        (cut, bytes) = (nil, 0)
        for index in sent..<rows.count where cut == nil { addToChunk(index) }
        if isExhausted, cut == nil, sent < rows.count { cut = rows.count }
    }

    /// Skips a row that the daemon already has.
    private func skip(
        _ row: InsertRow, _ known: BatchPrefix
    ) throws(TandemError) {
        inserted = BatchPrefix(rows: count + 1, hash: row.hash)
        guard count == known.rows else { return }
        guard inserted == known else { throw isOther }
        self.known = nil
    }

    private var isOther: TandemError {
        TandemError(
            .usage,
            "this id was used for other rows; choose a new id")
    }

    // MARK: Messages

    /// Returns the next chunk, encoded for a model, up to the first row that does not fit the
    /// model.
    ///
    /// The second element of the result is the error of that row, or nil if all rows fit.
    func message(_ model: CompiledModel) throws(TandemError) -> (BatchInsert, BatchRefusal?) {
        guard let entity = model.entity(named: entity) else {
            throw model.unknownEntity(entity)
        }
        let end = cut ?? sent
        var message = BatchInsert(
            batchID: order.id, author: order.author, context: order.context, policy: order.policy,
            modelVersion: model.version, entity: entity.tag, first: UInt64(count + sent),
            before: sent > 0 ? rows[sent - 1].hash : inserted.hash,
            isLast: isExhausted && end == rows.count && !mustQueryProgress,
            namesRefused: order.refusing != nil,
            after: position ?? 0)
        message.rows.reserveCapacity(end - sent)
        for index in sent..<end {
            do throws(TandemError) {
                message.rows.append(try rows[index].message(numbers[index], entity, model))
            } catch {
                message.isLast = false
                return (message, BatchRefusal(row: UInt64(count + index), error: error))
            }
        }
        return (message, nil)
    }

    /// Reports the object numbers of the next `count` rows, which form a chunk.
    func reportNumbers(_ count: Int) throws {
        try order.numbering?((sent..<sent + count).map { (rows[$0].number, numbers[$0]) })
    }

    /// Records that `count` rows of the next chunk were sent, with the promise of the answer.
    func didSend(_ count: Int, _ reply: ReplyPromise<DaemonMessage>) {
        inFlight.append(reply)
        sent += count
        markChunkEnd()
    }

    /// Removes and returns the promise of the answer to the first chunk in flight.
    func dequeueReply() -> ReplyPromise<DaemonMessage>? {
        inFlight.isEmpty ? nil : inFlight.removeFirst()
    }

    /// Whether no chunk is in flight.
    var isQuiet: Bool { inFlight.isEmpty }

    /// Marks all rows that are not inserted as unsent; call it only if no chunk is in flight.
    func sendAgain() {
        sent = 0
        markChunkEnd()
    }

    // MARK: Answers

    /// Records the daemon's answer to a chunk.
    ///
    /// Throws the error that the answer contains. Also throws `unknownOutcome` if the daemon has
    /// fewer rows than before, and `usage` if it has different rows.
    func handle(_ answer: BatchInsertAnswer) throws(TandemError) {
        mustQueryProgress = false
        let reached = Int(clamping: answer.rows)
        guard reached >= count else {
            throw TandemError(
                .unknownOutcome,
                "the daemon has \(reached) rows of the batch, but had \(count) before; look at the "
                    + "objects and begin a new batch")
        }
        modelAttempts = 0
        position = max(position ?? 0, answer.position)
        hasEnded = answer.hasEnded || (isExhausted && reached == 0 && rows.isEmpty)
        drop(min(reached - count, rows.count))
        try compareProgress(reached, answer.hash)
        if let error = answer.failure { throw failure(error, at: answer.failedRow) }
    }

    /// Removes the first rows, which have been inserted.
    private func drop(_ dropped: Int) {
        guard dropped > 0 else { return }
        inserted = BatchPrefix(rows: count + dropped, hash: rows[dropped - 1].hash)
        rows.removeFirst(dropped)
        numbers.removeFirst(min(dropped, numbers.count))
        if dropped <= sent {
            sent -= dropped
            cut = cut.map { $0 - dropped }
        } else {
            sent = 0
            markChunkEnd()
        }
    }

    /// Compares the daemon's progress with the rows that arrived.
    private func compareProgress(_ reached: Int, _ hash: StableHash) throws(TandemError) {
        if reached > count {
            known = BatchPrefix(rows: reached, hash: hash)
            if isExhausted { throw isOther }
        } else if reached > 0, hash != inserted.hash {
            throw isOther
        }
    }

    /// Continues without the rejected rows; returns false if the batch has to end.
    ///
    /// No chunk may be in flight. The rows are passed to `refusing` before any later row is sent.
    func removeRejected(_ refused: [BatchRefusal]) throws -> Bool {
        guard let refusing = order.refusing, !refused.isEmpty else { return false }
        let indexes = refused.map { Int(clamping: $0.row) - count }
        guard indexes.allSatisfy(rows.indices.contains) else { return false }
        try refusing(zip(indexes, refused).map { (rows[$0].number, $1.error) })
        let rejected = Set(indexes)
        let kept = rows.indices.filter { !rejected.contains($0) }
        numbers = kept.filter(numbers.indices.contains).map { numbers[$0] }
        rows = kept.map { rows[$0] }
        arrived.hash = inserted.hash
        for index in rows.indices {
            arrived.hash = rows[index].values.hash(after: arrived.hash)
            rows[index].hash = arrived.hash
        }
        // If the end of the batch was sent, it was in the chunk with the rejected rows: send it
        // again.
        hasEnded = false
        sendAgain()
        return true
    }

    /// Returns the error, extended by the row's index among all rows.
    func failure(_ error: TandemError, at row: UInt64?) -> TandemError {
        guard let row else { return error }
        let index = Int(clamping: row) - count
        let number = rows.indices.contains(index) ? rows[index].number : Int(clamping: row)
        var error = error
        error.row = number
        error.message = "row \(number): \(error.message)"
        return error
    }
}

/// Rejected rows in ascending order, by their index among all rows, from 0.
typealias BatchRefusals = [(row: Int, error: TandemError)]

/// The object numbers that rows get if they are inserted, by the row's index among all rows, from
/// 0.
typealias BatchNumbers = [(row: Int, number: ObjectNumber)]

/// A row of a batch insert that has not been confirmed as inserted.
private struct InsertRow {
    /// The index among all rows that arrived.
    var number: Int
    var values: BatchValues
    /// The hash of all rows of the batch up to this one.
    var hash: StableHash
    /// The estimated size in a chunk in bytes.
    var bytes: Int

    /// Returns the row's encoding for a model.
    func message(
        _ number: ObjectNumber, _ entity: CompiledEntity, _ model: CompiledModel
    ) throws(TandemError) -> BatchInsert.Row {
        try values.message(number, hash, entity, model)
    }
}

extension BatchValues {
    /// Returns the row's encoding for a model.
    fileprivate func message(
        _ number: ObjectNumber, _ hash: StableHash, _ entity: CompiledEntity,
        _ model: CompiledModel
    ) throws(TandemError) -> BatchInsert.Row {
        var (values, links) = try resolved(in: entity, model)
        // Null is sent only for attributes with a default, which the daemon would set otherwise.
        values.removeAll { $0.value.isNull && entity.defaults[$0.slot].isNull }
        return BatchInsert.Row(number: number, hash: hash, values: values, links: links)
    }

    /// The estimated size in a chunk in bytes.
    fileprivate var expectedBytes: Int {
        attributes.values.reduce(56) { bytes, value in
            switch value {
            case .string(let text), .url(let text): bytes + 4 + text.utf8.count
            case .data(let content): bytes + 4 + content.count
            default: bytes + 24
            }
        } + objects.values.reduce(0) { $0 + 16 * $1.count }
    }

    /// Returns the hash of the rows up to this one, given the hash of the rows before it.
    ///
    /// The result is the same in every process and under every model.
    fileprivate func hash(after before: StableHash) -> StableHash {
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

/// The arguments of a batch insert.
private struct BatchInsertOrder {
    let entity: String
    let policy: MergePolicy
    let id: [UInt8]
    let author: String?
    let context: String
    /// The maximum estimated size of a chunk's rows in bytes.
    let chunkBytes: Int
    /// Receives rows that the daemon rejects, by index among all rows; the batch continues without
    /// them.
    ///
    /// If nil, a rejected row ends the batch.
    let refusing: ((BatchRefusals) throws -> Void)?
    /// Receives the object numbers of a chunk's rows, by index among all rows, before the chunk is
    /// sent.
    let numbering: ((BatchNumbers) throws -> Void)?
}

/// The first rows of a batch, with the hash that identifies them.
private struct BatchPrefix: Equatable {
    var rows: Int
    var hash: StableHash
}

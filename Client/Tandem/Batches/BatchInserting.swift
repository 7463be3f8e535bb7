import TandemModel
import TandemQuery
import TandemWire

/// A batch insert under way: the rows of its next parts, and how far it came.
///
/// While the daemon inserts one part the next one is made and sent, so that neither waits for the other. It holds two parts and one row more,
/// whatever there is to come. Rows that the daemon has already, from an earlier attempt, are passed over as they come; what
/// stands for them has to be the same.
///
/// State:
/// - `rows`: rows that came and are not known to be inserted, and what stands for all rows up to each.
/// - `sent`, `underWay`: how many of these were sent, and where the answers to their parts arrive.
/// - `cut`: where the part behind those ends, once it is known whether rows come behind it.
/// - `known`: how far the daemon has come, where that is beyond the rows that have come here.
final class BatchInserting {
    let entity: String
    private let policy: MergePolicy
    private let id: [UInt8]
    private let author: String?
    private let context: String
    /// The most bytes that the rows of a part are expected to take.
    private let partBytes: Int
    /// Takes rows that the daemon refuses, by their numbers among all that came, so that the batch goes on without them; nil ends it.
    private let refusing: ((BatchRefusals) throws -> Void)?
    /// Receives the rows of each part, by their numbers among all that came, and the numbers of their objects, before the part is sent.
    private let numbering: ((BatchNumbers) throws -> Void)?
    private var rows: [InsertRow] = []
    private var sent = 0
    private var cut: Int?
    /// The bytes of the rows behind those that were sent, up to the cut.
    private var bytes = 0
    /// The numbers of the first objects of `rows`, as far as there are any.
    var numbers: [ObjectNumber] = []
    private var underWay: [Reply<DaemonMessage>] = []
    /// How often in a row a part met another model than it was made for.
    var modelAttempts = 0
    private var known: (rows: Int, hash: StableHash)?
    /// What stands for all rows that came, and for those that are inserted.
    private var taken: StableHash
    private var inserted: StableHash
    /// How many rows came, refused ones included.
    private var came = 0
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
        context: String, partBytes: Int = WireLimits.frameBytes,
        refusing: ((BatchRefusals) throws -> Void)? = nil,
        numbering: ((BatchNumbers) throws -> Void)? = nil
    ) {
        self.entity = entity
        self.policy = policy
        self.id = id
        self.author = author
        self.context = context
        self.partBytes = partBytes
        self.refusing = refusing
        self.numbering = numbering
        asks = mayBeRepeat
        taken = StableHash(Array(entity.utf8) + [0, policy.rawValue])
        inserted = taken
    }

    /// So many parts at most are sent without an answer: one that the daemon inserts, and one that waits for it.
    static let partsUnderWay = 2

    /// Whether the next part needs more rows, before which nothing has to be waited for.
    var wantsMore: Bool {
        !asks && !isExhausted && cut == nil && underWay.count < Self.partsUnderWay
    }

    /// Whether the next part, or the question how far the batch came, can be sent now.
    var canSend: Bool {
        if asks { return underWay.isEmpty }
        if cut == nil { return isExhausted && rows.isEmpty && underWay.isEmpty && !hasEnded }
        return underWay.count < Self.partsUnderWay
    }

    /// Whether all rows are inserted and the daemon knows that these are all.
    var isDone: Bool { isExhausted && rows.isEmpty && underWay.isEmpty && hasEnded }

    /// Whether it is not known yet how far the batch came.
    var isUnsettled: Bool { asks }

    /// Whether rows of the next part are without a number.
    var lacksNumber: Bool { numbers.count < cut ?? sent }

    /// How many rows it holds.
    var heldRows: Int { rows.count }

    /// How many rows the daemon has, from this attempt or an earlier one.
    var knownRows: Int { known?.rows ?? count }

    // MARK: Rows

    /// Takes the next row.
    func add(_ values: BatchValues) throws(TandemError) {
        taken = values.hash(behind: taken)
        let row = InsertRow(number: came, values: values, hash: taken, bytes: values.expectedBytes)
        came += 1
        if let known { return try passOver(row, known) }
        rows.append(row)
        place(rows.count - 1)
    }

    /// Notes that there are no more rows.
    func end() throws(TandemError) {
        isExhausted = true
        if known != nil { throw isOther }
        if cut == nil, sent < rows.count { cut = rows.count }
    }

    /// Puts a row into the part that is being made, or cuts that before it.
    private func place(_ index: Int) {
        guard cut == nil else { return }
        let isFull =
            index - sent == WireLimits.batchObjects || bytes + rows[index].bytes > partBytes
        if index > sent, isFull { cut = index } else { bytes += rows[index].bytes }
    }

    /// Makes a part of what was not sent.
    private func makePart() {
        (cut, bytes) = (nil, 0)
        for index in sent..<rows.count where cut == nil { place(index) }
        if isExhausted, cut == nil, sent < rows.count { cut = rows.count }
    }

    /// Drops a row that the daemon has.
    private func passOver(
        _ row: InsertRow, _ known: (rows: Int, hash: StableHash)
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
    func message(_ model: CompiledModel) throws(TandemError) -> (BatchInsert, BatchRefusal?) {
        guard let entity = model.entity(named: entity) else {
            throw TandemError(.unknownEntity, "there is no entity `\(entity)`")
        }
        let end = cut ?? sent
        var message = BatchInsert(
            batchID: id, author: author, context: context, policy: policy,
            modelVersion: model.version, entity: entity.tag, first: UInt64(count + sent),
            before: sent > 0 ? rows[sent - 1].hash : inserted,
            isLast: isExhausted && end == rows.count && !asks, namesRefused: refusing != nil,
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

    /// Reports the object numbers of the next part, which has `count` rows.
    func reportNumbers(_ count: Int) throws {
        try numbering?((sent..<sent + count).map { (rows[$0].number, numbers[$0]) })
    }

    /// Notes that so many rows of the next part were sent, whose answer arrives at `reply`.
    func noteSent(_ count: Int, _ reply: Reply<DaemonMessage>) {
        underWay.append(reply)
        sent += count
        makePart()
    }

    /// Takes out where the answer to the first part under way arrives.
    func takeReply() -> Reply<DaemonMessage>? {
        underWay.isEmpty ? nil : underWay.removeFirst()
    }

    /// Whether nothing is under way.
    var isQuiet: Bool { underWay.isEmpty }

    /// Lets everything that is not inserted be sent again, once nothing is under way any more.
    func sendAgain() {
        sent = 0
        makePart()
    }

    // MARK: Answers

    /// Notes what the daemon answered to a part.
    func settle(_ answer: BatchInserted) throws(TandemError) {
        asks = false
        let reached = Int(clamping: answer.rows)
        guard reached >= count else {
            throw TandemError(
                .unknownOutcome,
                "the daemon has \(reached) rows of the batch, and had \(count) before; look at the "
                    + "objects and begin a new batch")
        }
        modelAttempts = 0
        position = max(position ?? 0, answer.position)
        hasEnded = answer.hasEnded || (isExhausted && reached == 0 && rows.isEmpty)
        drop(min(reached - count, rows.count))
        try meet(reached, answer.hash)
        if let error = answer.failure { throw failure(error, at: answer.failedRow) }
    }

    /// Lets go of rows that are inserted.
    private func drop(_ gone: Int) {
        guard gone > 0 else { return }
        inserted = rows[gone - 1].hash
        count += gone
        rows.removeFirst(gone)
        numbers.removeFirst(min(gone, numbers.count))
        if gone <= sent {
            sent -= gone
            cut = cut.map { $0 - gone }
        } else {
            sent = 0
            makePart()
        }
    }

    /// Compares what the daemon has with what came.
    private func meet(_ reached: Int, _ hash: StableHash) throws(TandemError) {
        if reached > count {
            known = (reached, hash)
            if isExhausted { throw isOther }
        } else if reached > 0, hash != inserted {
            throw isOther
        }
    }

    /// Goes on without the rows that were refused; false where that ends the batch.
    ///
    /// Nothing may be under way. They are handed over before anything behind them is sent.
    func leaveOut(_ refused: [BatchRefusal]) throws -> Bool {
        guard let refusing, !refused.isEmpty else { return false }
        let places = refused.map { Int(clamping: $0.row) - count }
        guard places.allSatisfy(rows.indices.contains) else { return false }
        try refusing(zip(places, refused).map { (rows[$0].number, $1.error) })
        let gone = Set(places)
        let kept = rows.indices.filter { !gone.contains($0) }
        numbers = kept.filter(numbers.indices.contains).map { numbers[$0] }
        rows = kept.map { rows[$0] }
        taken = inserted
        for index in rows.indices {
            taken = rows[index].values.hash(behind: taken)
            rows[index].hash = taken
        }
        // The end that was told of came with them, if at all.
        hasEnded = false
        sendAgain()
        return true
    }

    /// An error that names the row, by its number among all that came.
    func failure(_ error: TandemError, at row: UInt64?) -> TandemError {
        guard let row else { return error }
        let place = Int(clamping: row) - count
        let number = rows.indices.contains(place) ? rows[place].number : Int(clamping: row)
        var error = error
        error.row = number
        error.message = "row \(number): \(error.message)"
        return error
    }
}

/// Rows that can't be inserted, by their numbers among all that came, from 0, in order.
typealias BatchRefusals = [(row: Int, error: TandemError)]

/// The numbers that the objects of rows get if they are inserted; rows by their numbers among all that came, from 0.
typealias BatchNumbers = [(row: Int, number: ObjectNumber)]

/// A row of a batch insert that is not known to be inserted.
private struct InsertRow {
    /// Its number among all rows that came.
    var number: Int
    var values: BatchValues
    /// What stands for all rows of the batch up to this one.
    var hash: StableHash
    /// About the bytes that it takes in a part.
    var bytes: Int

    /// The row of a part under a model.
    func message(
        _ number: ObjectNumber, _ entity: CompiledEntity, _ model: CompiledModel
    ) throws(TandemError) -> BatchInsert.Row {
        try values.message(number, hash, entity, model)
    }
}

extension BatchValues {
    /// The row of a part under a model.
    fileprivate func message(
        _ number: ObjectNumber, _ hash: StableHash, _ entity: CompiledEntity,
        _ model: CompiledModel
    ) throws(TandemError) -> BatchInsert.Row {
        var (values, links) = try resolved(in: entity, model)
        // Null is said only where the daemon would put a default else.
        values.removeAll { $0.value.isNull && entity.defaults[$0.slot].isNull }
        return BatchInsert.Row(number: number, hash: hash, values: values, links: links)
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

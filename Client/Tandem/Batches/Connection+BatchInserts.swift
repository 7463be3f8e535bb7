import TandemModel
import TandemQuery
import TandemWire

/// A batch insert under way: the rows that are to come, and how far it came.
final class BatchInserting<Rows: Sequence> where Rows.Element == BatchValues {
    let entity: String
    let policy: MergePolicy
    let id: [UInt8]
    let author: String?
    let context: String
    private var rows: Rows.Iterator
    /// The rows of the next transaction.
    private(set) var part: [BatchValues] = []
    /// The numbers of their objects, as far as there are any.
    var numbers: [ObjectNumber] = []
    private var ahead: BatchValues?
    /// How many objects are inserted.
    private(set) var count = 0
    /// The position of the last transaction.
    private(set) var position: UInt64?

    init(
        _ request: BatchInsertRequest<Rows>, id: [UInt8], author: String?, context: String
    ) {
        entity = request.entity
        policy = request.policy
        rows = request.rows.makeIterator()
        self.id = id
        self.author = author
        self.context = context
    }

    /// Takes the rows of the next transaction from the sequence; false when there are no more.
    func take() -> Bool {
        var bytes = 0
        part.removeAll(keepingCapacity: true)
        numbers.removeAll(keepingCapacity: true)
        while part.count < WireLimits.batchObjects, let row = ahead ?? rows.next() {
            ahead = nil
            bytes += row.expectedBytes
            guard part.isEmpty || bytes <= WireLimits.frameBytes else {
                ahead = row
                break
            }
            part.append(row)
        }
        return !part.isEmpty
    }

    /// The save of those rows, which all have numbers.
    func save(_ model: CompiledModel) throws(TandemError) -> SaveRequest {
        guard let entity = model.entity(named: entity) else {
            throw TandemError(.unknownEntity, "no entity is named \(entity)")
        }
        var operations: [SaveOperation] = []
        operations.reserveCapacity(part.count)
        for (row, number) in zip(part, numbers) {
            let (values, links) = try row.resolved(in: entity, model)
            operations.append(
                .insert(
                    object: ObjectReference(tag: entity.tag, number: number),
                    values: values.filter {
                        // Null is said only where the daemon would put a default else.
                        !$0.value.isNull || !entity.defaults[$0.slot].isNull
                    }, links: links))
        }
        return SaveRequest(
            saveID: id + withUnsafeBytes(of: UInt64(count + part.count).bigEndian) { Array($0) },
            contentHash: contentHash, author: author, context: context, policy: policy,
            modelVersion: model.version, operations: operations)
    }

    /// Stands for the rows, apart from the numbers of their objects.
    private var contentHash: StableHash {
        var writer = ByteWriter()
        writer.string(entity)
        for row in part { row.encode(into: &writer) }
        return StableHash(writer.bytes)
    }

    /// Notes that the rows are inserted.
    func settle(_ saved: Saved) {
        count += part.count
        position = max(position ?? 0, saved.position)
    }
}

extension Connection {
    /// Sends rows as saves, one after the other, until there are no more.
    func insertStep<Rows>(_ work: BatchInserting<Rows>) -> Step<BatchResult> {
        guard work.take() else {
            if let position = work.position {
                return .connect { _ in .done(try self.batchResult(position, work.count)) }
            }
            return .ask(.sync(Sync(number: 0, timeoutMilliseconds: 0))) {
                if case .synced(let position) = $0 { position } else { nil }
            } then: { (position: UInt64) in
                .done(try self.batchResult(position, 0))
            }
        }
        return saveStep(work)
    }

    private func saveStep<Rows>(
        _ work: BatchInserting<Rows>, attempt: Int = 1
    ) -> Step<BatchResult> {
        .connect { session in
            while work.numbers.count < work.part.count {
                guard let number = self.nextNumber() else {
                    return self.leaseStep(work, attempt)
                }
                work.numbers.append(number)
            }
            return .ask(.save(try work.save(session.model))) { result in
                switch result {
                case .success(.saved(let saved)):
                    work.settle(saved)
                    return self.insertStep(work)
                case .success(let answer): throw Step<BatchResult>.unexpected(answer)
                case .failure(let error):
                    guard error.code == .schemaMismatch, attempt < self.limits.modelAttempts
                    else { throw error }
                    return self.modelStep { self.saveStep(work, attempt: attempt + 1) }
                }
            }
        }
    }

    private func leaseStep<Rows>(
        _ work: BatchInserting<Rows>, _ attempt: Int
    ) -> Step<BatchResult> {
        .ask(.lease(count: Self.leaseCount)) { result in
            _ = try result.get()
            return self.saveStep(work, attempt: attempt)
        }
    }

    /// An error of a batch insert, with what was inserted before.
    func failure<Rows>(_ error: TandemError, of work: BatchInserting<Rows>) -> TandemError {
        guard let position = work.position, let done = try? batchResult(position, work.count)
        else { return error }
        return error.after(done)
    }
}

extension BatchValues {
    /// About the bytes that it takes in a save.
    fileprivate var expectedBytes: Int {
        attributes.values.reduce(32) { bytes, value in
            switch value {
            case .string(let text), .url(let text): bytes + 4 + text.utf8.count
            case .data(let content): bytes + 4 + content.count
            default: bytes + 24
            }
        } + objects.values.reduce(0) { $0 + 16 * $1.count }
    }

    fileprivate func encode(into writer: inout ByteWriter) {
        for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
            writer.string(name)
            value.encode(into: &writer)
        }
        for (name, ids) in objects.sorted(by: { $0.key < $1.key }) {
            writer.string(name)
            for id in ids { writer.string(id.description) }
        }
        writer.uint8(0)
    }
}

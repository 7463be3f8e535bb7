import TandemModel
import TandemQuery

/// The results of a request, read one after another while values are made from them.
///
/// A large answer arrives in chunks: values are made from one chunk while the next is transferred.
///
/// State: `selection` is the current chunk, and `chunks` provides the later chunks. `unvisited`
/// contains the objects whose rows were not visited, because the code that read an earlier row
/// moved the context.
@usableFromInline
final class FoundRows {
    private var selection: FetchSelection
    private let context: ManagedObjectContext
    private let chunks: ChunkReader?
    /// The objects that still have to be loaded, in order, after the visited ones.
    private(set) var unvisited: [ManagedObject] = []
    /// Whether the connection was lost before the last chunk arrived.
    @usableFromInline private(set) var isBroken = false

    init(
        _ selection: FetchSelection, _ context: ManagedObjectContext,
        _ chunks: ChunkReader? = nil
    ) {
        (self.selection, self.context, self.chunks) = (selection, context, chunks)
    }

    /// An upper bound on the capacity reserved for an answer, whatever count the daemon announces.
    private static let mostExpected = 1 << 20

    /// The total number of objects; for rows, limited to ``mostExpected``.
    @usableFromInline
    var expectedCount: Int {
        switch selection {
        case .objects(let objects): objects.count
        case .rows(let answer): min(answer.count, Self.mostExpected)
        }
    }

    /// The number of objects in the current chunk, including those that can't be visited.
    @usableFromInline
    var count: Int {
        switch selection {
        case .objects(let objects): objects.count
        case .rows(let answer): answer.objects.count
        }
    }

    /// Calls `body` with each object of the chunk that has the requested class, in order.
    ///
    /// Objects that were deleted meanwhile, because `body` moved the context, are skipped: they
    /// have no values. Throws `storage` if a row can't be read.
    @usableFromInline
    func forEach(
        where isWanted: (ManagedObject.Type) -> Bool, _ body: (RowSource) -> Void
    ) throws {
        switch selection {
        case .objects(let objects):
            for object in objects where !object.record.isGone && isWanted(type(of: object)) {
                body(.object(object))
            }
        case .rows(let answer): try forEach(of: answer, isWanted, body)
        }
    }

    private func forEach(
        of answer: RowsAnswer, _ isWanted: (ManagedObject.Type) -> Bool,
        _ body: (RowSource) -> Void
    ) throws {
        /// The entity of the previous row, and whether its class was requested.
        var latest: (entity: CompiledEntity, isWanted: Bool)?
        for index in answer.objects.indices {
            guard answer.isCurrent else {
                unvisited += try answer.objects(from: index)
                return
            }
            let reference = answer.reference(at: index)
            if context.graph[reference.number] != nil {
                try context.graph.adopt(answer.objects[index])
                context.failures.dropDoubtfulEdits()
                guard isWanted(answer.type(of: reference)) else { continue }
                let object = context.graph[reference.number]?.object
                body(object.map { .object($0) } ?? .row(answer, index))
                continue
            }
            if latest?.entity.tag != reference.tag {
                let entity = try context.graph.entity(of: reference)
                latest = (entity, isWanted(answer.type(of: reference)))
            }
            guard let (entity, isWanted) = latest else { continue }
            guard answer.objects.withRow(at: index, { $2.isValid(for: entity) }) else {
                throw ObjectGraph.unreadable(reference, entity)
            }
            guard isWanted else { continue }
            answer.visit(index)
            body(.row(answer, index))
        }
    }

    /// Waits for the next chunk; returns false at the end or if the connection was lost
    /// (``isBroken``).
    ///
    /// Throws the error that the daemon sent instead of the remaining chunks.
    @usableFromInline
    func loadNextChunk() throws -> Bool {
        guard let chunks, case .rows(let answer) = selection else { return false }
        do throws(TandemError) {
            guard let part = try context.connection.next(of: chunks) else { return false }
            selection = .rows(answer.chunk(part.objects))
            return true
        } catch {
            guard chunks.isLost else { throw error }
            isBroken = true
            return false
        }
    }
}

// MARK: Values

extension FoundRows {
    /// Returns the results of a request; blocks until the first chunk arrives.
    ///
    /// Throws `disconnected` if the connection was lost in the middle of `readAttempts` answers.
    @usableFromInline
    static func found<Object: ManagedEntity>(
        by request: FetchRequest<Object>, in context: ManagedObjectContext, _ attempt: Int
    ) throws -> FoundRows {
        guard attempt <= context.core.limits.readAttempts else {
            throw TandemError(
                .disconnected,
                "the connection was lost \(attempt - 1) times during the fetch; fetch again")
        }
        let descriptor = try prepare(request, context)
        let chunks = ChunkReader()
        return FoundRows(
            try context.blocking {
                try await context.fetches.selection(descriptor, into: chunks, $0)
            }, context, chunks)
    }

    /// Returns the results of a request.
    @usableFromInline
    static func found<Object: ManagedEntity>(
        by request: FetchRequest<Object>, in context: ManagedObjectContext
    ) async throws -> FoundRows {
        let descriptor = try prepare(request, context)
        return FoundRows(
            try await context.cancellable { try await context.fetches.selection(descriptor, $0) },
            context)
    }

    private static func prepare<Object: ManagedEntity>(
        _ request: FetchRequest<Object>, _ context: ManagedObjectContext
    ) throws -> FetchDescriptor {
        context.core.registerIfNeeded(Object.self)
        let descriptor = try request.descriptor
        context.failures.forgetValueFailure()
        return descriptor
    }

    /// Returns the values of the rows that can be visited in place.
    ///
    /// The values are created directly in the array's storage. Returns nil if the connection was
    /// lost before the last chunk, in which case the caller fetches again.
    @inlinable
    func values<Row: ObjectValue>(_ type: Row.Type) throws -> [Row]? {
        var rows: [Row] = []
        rows.reserveCapacity(expectedCount)
        repeat {
            try rows.append(addingCapacity: count) { span in
                try forEach(where: { $0 is Row.Object.Type }) { source in
                    span.append(Row(RowReader(source)))
                }
            }
        } while try loadNextChunk()
        return isBroken ? nil : rows
    }

    /// Loads the objects that could not be visited; blocks.
    @usableFromInline
    func loadUnvisited() throws {
        let references = unvisited.map(\.record.reference)
        try context.blocking { try await context.loader.load(references, $0) }
    }

    /// Loads the objects that could not be visited.
    @usableFromInline
    func loadUnvisited() async throws {
        let references = unvisited.map(\.record.reference)
        try await context.cancellable { try await context.loader.load(references, $0) }
    }

    /// Returns values followed by those of the objects that could not be visited and exist after
    /// loading.
    ///
    /// Throws the error of any value that could not be loaded.
    @inlinable
    func completed<Row: ObjectValue>(_ values: [Row]) throws -> [Row] {
        var rest: [Row] = []
        for object in existingUnvisited {
            if let object = object as? Row.Object { rest.append(Row(RowReader(object))) }
        }
        try throwValueFailure()
        return rest.isEmpty ? values : values + rest
    }

    /// The objects that could not be visited and exist; deleted objects have no values.
    @usableFromInline
    var existingUnvisited: [ManagedObject] { unvisited.filter { !$0.record.isGone } }

    @usableFromInline
    func throwValueFailure() throws { try context.failures.throwValueFailure() }
}

/// The selection of a fetch: rows if they can be read in place, otherwise objects.
enum FetchSelection {
    case objects([ManagedObject])
    case rows(RowsAnswer)
}

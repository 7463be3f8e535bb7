import TandemModel

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
    /// The objects of `unvisited` that exist after loading; deleted objects have no values.
    var existingUnvisited: [ManagedObject] { unvisited.filter { !$0.record.isGone } }
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

/// The selection of a fetch: rows if they can be read in place, otherwise objects.
enum FetchSelection {
    case objects([ManagedObject])
    case rows(RowsAnswer)
}

import TandemModel

/// The results of a request, bound to flyweight objects one after another while values are made of
/// them.
///
/// A large answer arrives in chunks: values are made of one chunk while the next is transferred.
///
/// State: `picked` is the current chunk, and `parts` provides further ones. `rest` are the objects
/// whose rows were not visited, because the code that read an earlier object moved the context.
@usableFromInline
final class LentObjects {
    private var picked: ManagedObjectContext.Picked
    private let context: ManagedObjectContext
    private let parts: ChunkReader?
    private let rows: PassingRows
    /// The objects that still have to be loaded, in order, after the visited ones.
    private(set) var rest: [ManagedObject] = []
    /// The objects of `rest` that exist after loading; deleted objects have no values.
    var left: [ManagedObject] { rest.filter { !$0.record.isGone } }
    /// Whether the connection was lost before the last chunk arrived.
    @usableFromInline private(set) var isBroken = false

    init(
        _ picked: ManagedObjectContext.Picked, _ context: ManagedObjectContext,
        _ parts: ChunkReader? = nil
    ) {
        (self.picked, self.context, self.parts) = (picked, context, parts)
        rows = PassingRows(context)
    }

    /// The upper bound of the capacity reserved for an answer, whatever count the daemon announces.
    private static let mostExpected = 1 << 20

    /// The number of objects in all, limited to a sensible capacity.
    @usableFromInline
    var expectedCount: Int {
        switch picked {
        case .objects(let objects): objects.count
        case .rows(let answer): min(answer.count, Self.mostExpected)
        }
    }

    /// The number of objects in the current chunk, including those that can't be visited.
    @usableFromInline
    var count: Int {
        switch picked {
        case .objects(let objects): objects.count
        case .rows(let answer): answer.objects.count
        }
    }

    /// Calls `body` with each object of the chunk, in order; an object may be valid for that call
    /// only.
    ///
    /// Objects that were deleted meanwhile, because `body` moved the context, are skipped: they
    /// have no values. Throws `storage` if a row can't be read.
    @usableFromInline
    func forEach(_ body: (ManagedObject) -> Void) throws {
        switch picked {
        case .objects(let objects):
            for object in objects where !object.record.isGone { body(object) }
        case .rows(let answer): rest += try rows.forEach(in: answer, body)
        }
    }

    /// Waits for the next chunk; returns false at the end or if the connection was lost
    /// (``isBroken``).
    ///
    /// Throws an error that the daemon sent instead of the remaining chunks.
    @usableFromInline
    func takeNext() throws -> Bool {
        guard let parts, case .rows(let answer) = picked else { return false }
        do throws(TandemError) {
            guard let part = try context.connection.next(of: parts) else { return false }
            picked = .rows(answer.part(part.objects))
            return true
        } catch {
            guard parts.isLost else { throw error }
            isBroken = true
            return false
        }
    }
}

import TandemModel

/// What a request picked, to be lent one after the other while values are made of it.
///
/// A large answer comes in parts: values are made of one while the next is under way.
///
/// State: `picked` is what is lent next, and `parts` gives more; `rest` are the objects that could not be lent, since whoever looked at one
/// before led the context elsewhere.
@usableFromInline
final class LentObjects {
    private var picked: ManagedObjectContext.Picked
    private let context: ManagedObjectContext
    private let parts: AnswerParts?
    private let rows: PassingRows
    /// What has to be loaded, and taken as it is then, behind those that were lent.
    private(set) var rest: [ManagedObject] = []
    /// The same without what is gone, once it was loaded: that has no values.
    var left: [ManagedObject] { rest.filter { !$0.record.isGone } }
    /// Whether the connection was lost before the last part came.
    @usableFromInline private(set) var isBroken = false

    init(
        _ picked: ManagedObjectContext.Picked, _ context: ManagedObjectContext,
        _ parts: AnswerParts? = nil
    ) {
        (self.picked, self.context, self.parts) = (picked, context, parts)
        rows = PassingRows(context)
    }

    /// So many objects are made room for at most, whatever the daemon says.
    private static let mostExpected = 1 << 20

    /// How many there are in all, as far as that is worth making room for.
    @usableFromInline
    var expectedCount: Int {
        switch picked {
        case .objects(let objects): objects.count
        case .rows(let answer): min(answer.count, Self.mostExpected)
        }
    }

    /// How many are lent next, those included that can't be.
    @usableFromInline
    var count: Int {
        switch picked {
        case .objects(let objects): objects.count
        case .rows(let answer): answer.objects.count
        }
    }

    /// Calls `body` with the objects in order, each of which may be lent for that one call; at most as often as there are.
    ///
    /// What is gone by then, since `body` led the context elsewhere, is left out: it has no values.
    /// Throws `storage` for rows that can't be read.
    @usableFromInline
    func forEach(_ body: (ManagedObject) -> Void) throws {
        switch picked {
        case .objects(let objects):
            for object in objects where !object.record.isGone { body(object) }
        case .rows(let answer): rest += try rows.forEach(in: answer, body)
        }
    }

    /// Goes on to what is lent next, and waits for it; false at the end, or where the answer broke off (``isBroken``).
    ///
    /// Throws what the daemon sent in place of the rest.
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

import TandemModel

/// What a request picked, to be lent one after the other while values are made of it.
///
/// State: the objects that could not be lent, since whoever looked at one before led the context elsewhere.
@usableFromInline
final class LentObjects {
    private let picked: ManagedObjectContext.Picked
    private let context: ManagedObjectContext
    /// What has to be loaded, and taken as it is then, behind those that were lent.
    private(set) var rest: [ManagedObject] = []
    /// The same without what is gone, once it was loaded: that has no values.
    var left: [ManagedObject] { rest.filter { !$0.record.isGone } }

    init(_ picked: ManagedObjectContext.Picked, _ context: ManagedObjectContext) {
        (self.picked, self.context) = (picked, context)
    }

    /// How many there are, those included that can't be lent.
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
        case .rows(let answer): rest = try PassingRows(context).forEach(in: answer, body)
        }
    }
}

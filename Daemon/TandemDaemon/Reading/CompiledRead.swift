import TandemModel
import TandemQuery
import TandemWire

/// A client's read request, which is answered from one view of the store.
enum CompiledRead {
    case fetch(Fetch, CompiledRequest)
    case explain(Fetch, CompiledRequest)
    case objects(Read)
    case verdicts(VerdictRequest)

    /// Creates the read request of a message; nil if the message is of another kind.
    ///
    /// Throws ``TandemError`` for a request that does not fit the model.
    init?(_ message: ClientMessage, in model: CompiledModel) throws(TandemError) {
        switch message {
        case .fetch(let fetch): self = .fetch(fetch, try fetch.compiled(in: model))
        case .explain(let fetch): self = .explain(fetch, try fetch.compiled(in: model))
        case .read(let read): self = .objects(read)
        case .verdicts(let request): self = .verdicts(request)
        default: return nil
        }
    }

    /// Returns the same request, compiled with a copy of the model.
    func compiled(in model: CompiledModel) throws(TandemError) -> CompiledRead {
        switch self {
        case .fetch(let fetch, let request): .fetch(fetch, try request.compiled(in: model))
        case .explain(let fetch, let request): .explain(fetch, try request.compiled(in: model))
        case .objects, .verdicts: self
        }
    }

    /// The requested position; 0 for the position of the view.
    var position: UInt64 {
        switch self {
        case .fetch(let fetch, _), .explain(let fetch, _): fetch.at
        case .objects(let read): read.at
        case .verdicts(let request): request.at
        }
    }

    /// The entities that the client subscribes to with the answer.
    var interests: [EntityTag] {
        switch self {
        case .fetch(let fetch, _): fetch.interests
        case .objects(let read): read.interests
        case .explain: []
        case .verdicts(let request):
            switch request.alongside {
            case .fetch(let fetch): fetch.interests
            case .read(let read): read.interests
            case nil: []
            }
        }
    }

    /// The predicates of the request.
    private var predicates: [ObjectPredicate] {
        switch self {
        case .fetch(let fetch, _), .explain(let fetch, _):
            [fetch.request.predicate, fetch.columns?.having].compactMap(\.self)
        case .objects: []
        case .verdicts(let request):
            request.items.compactMap(\.request.predicate) + (request.alongside?.predicates ?? [])
        }
    }

    /// The work of evaluating an object, relative to the comparison of one number.
    var weight: Int { PredicateSize.weight(of: predicates) }

    /// Whether the lists of a verdict request can be compiled quickly enough on the daemon's
    /// thread.
    ///
    /// The request of any other read was already compiled to validate it.
    var compilesQuickly: Bool {
        guard case .verdicts(let request) = self else { return true }
        let paths = request.items.reduce(0) {
            $0 + 1 + $1.refreshKeyPaths.count + $1.request.sort.count
        }
        let parts = predicates.reduce(0) { $0 + PredicateSize(of: $1).parts }
        return paths <= DaemonLimits.smallReadPaths && parts <= DaemonLimits.smallReadPredicateParts
    }

    /// The entities of all objects that a read at an earlier position reads; nil for all entities.
    var observedTags: Set<EntityTag>? {
        switch self {
        // A path to related objects can end at any entity.
        case .fetch(let fetch, let request) where fetch.related.isEmpty: request.observedTags
        case .explain(_, let request): request.observedTags
        case .fetch, .objects, .verdicts: nil
        }
    }
}

extension PredicateSize {
    /// Returns the work of evaluating predicates, relative to the comparison of one number.
    static func weight(of predicates: [ObjectPredicate]) -> Int {
        predicates.lazy.map { PredicateSize(of: $0) }.reduce(1) {
            $0 + $1.comparisons / 8 + $1.textSearches * textSearch
        }
    }

    /// The cost of searching 64 bytes of a text, relative to the comparison of one number.
    private static var textSearch: Int { 16 }
}

extension PiggybackedRead {
    fileprivate var predicates: [ObjectPredicate] {
        guard case .fetch(let fetch) = self else { return [] }
        return [fetch.request.predicate, fetch.columns?.having].compactMap(\.self)
    }
}

extension CompiledRequest {
    /// The entities of all objects that the request reads.
    fileprivate var observedTags: Set<EntityTag> {
        var tags = Set(entity.descendants)
        for hop in paths.flatMap(\.hops) {
            for tag in [hop.owner, hop.destination] {
                tags.formUnion(model.entity(tagged: tag)?.descendants ?? [])
            }
        }
        return tags
    }
}

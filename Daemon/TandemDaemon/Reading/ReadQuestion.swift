import TandemModel
import TandemQuery
import TandemWire

/// What a client wants to read: answered from one view of the store, whatever else goes on.
enum ReadQuestion {
    case fetch(Fetch, CompiledRequest)
    case explain(Fetch, CompiledRequest)
    case objects(Read)
    case verdicts(VerdictRequest)

    /// The question that a message is; nil for one that asks for something else.
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

    /// The same question, compiled in a copy of the model.
    func compiled(in model: CompiledModel) throws(TandemError) -> ReadQuestion {
        switch self {
        case .fetch(let fetch, let request): .fetch(fetch, try request.compiled(in: model))
        case .explain(let fetch, let request): .explain(fetch, try request.compiled(in: model))
        case .objects, .verdicts: self
        }
    }

    /// The position that it is about; 0 for that of the view.
    var position: UInt64 {
        switch self {
        case .fetch(let fetch, _), .explain(let fetch, _): fetch.at
        case .objects(let read): read.at
        case .verdicts(let request): request.at
        }
    }

    /// The entities that its client follows from the answer on.
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

    /// The predicates that are evaluated for it.
    private var predicates: [ObjectPredicate] {
        switch self {
        case .fetch(let fetch, _), .explain(let fetch, _):
            [fetch.request.predicate, fetch.columns?.having].compactMap(\.self)
        case .objects: []
        case .verdicts(let request):
            request.items.compactMap(\.request.predicate) + (request.alongside?.predicates ?? [])
        }
    }

    /// How many times as much work each object is than one of which a number is compared.
    var weight: Int {
        let sizes = predicates.map { PredicateSize(of: $0) }
        return 1
            + sizes.reduce(0) { $0 + $1.comparisons / 8 + $1.textSearches * Self.textSearch }
    }

    /// To search 64 bytes of a text takes as long as to compare so many numbers.
    private static var textSearch: Int { 16 }

    /// The entities of all that is read for it at an earlier position; nil for all there are.
    var observedTags: Set<EntityTag>? {
        switch self {
        // What lies on paths to related objects may be of any entity.
        case .fetch(let fetch, let request) where fetch.related.isEmpty: request.observedTags
        case .explain(_, let request): request.observedTags
        case .fetch, .objects, .verdicts: nil
        }
    }
}

extension Alongside {
    fileprivate var predicates: [ObjectPredicate] {
        guard case .fetch(let fetch) = self else { return [] }
        return [fetch.request.predicate, fetch.columns?.having].compactMap(\.self)
    }
}

extension CompiledRequest {
    /// The entities of everything that it reads.
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

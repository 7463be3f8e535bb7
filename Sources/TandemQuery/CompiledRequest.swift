public import TandemModel

/// A request resolved against a model: slots instead of names, values of the right types.
///
/// Immutable; compile once, evaluate for every row. A row must be one that is valid for its entity in the same model.
/// A reader that lacks something makes the answer unknown, which is nil, and only where the answer depends on it.
public struct CompiledRequest: Sendable {
    /// The request as it was written.
    public let request: FetchRequest
    /// The key path of section names.
    public let sectionKeyPath: String?
    /// The key paths whose values update a row.
    public let refreshKeyPaths: [String]
    /// The model.
    public let model: CompiledModel
    /// The entity fetched.
    public let entity: CompiledEntity
    /// Every key path that the request depends on.
    public let paths: [ObservedPath]
    /// What the top level of the predicate says of the object's own attributes and to-one relationships.
    public let constraints: [SlotConstraint]
    /// Whether the predicate looks beyond the object's own row.
    public let predicateUsesRelated: Bool
    /// Whether the predicate compares texts of the object's own row, which may be too long for it.
    public let predicateReadsTexts: Bool
    /// Whether sort keys or sections look beyond the object's own row, through to-one relationships.
    public let keysUseRelated: Bool
    /// Whether any path leads through a to-many relationship.
    public let usesToMany: Bool

    let predicate: PredicateNode?
    let sort: [(path: CompiledPath, key: SortKey)]
    let sectionPath: CompiledPath?
    let refreshPaths: [CompiledPath]
    /// The first to-one relationship over which, by one hop, sections or order lead.
    let placingSlot: Int?

    /// The same request, compiled in another model or a copy of its own.
    ///
    /// Throws ``TandemError`` as if it were resolved for the first time.
    public func compiled(in model: CompiledModel) throws(TandemError) -> CompiledRequest {
        try CompiledRequest(
            request, sectionKeyPath: sectionKeyPath, refreshKeyPaths: refreshKeyPaths, in: model)
    }

    /// Resolves a request.
    ///
    /// Throws ``TandemError`` with `unknownEntity`, `unknownProperty`, `limitExceeded` or `invalidPredicate`: a to-many path
    /// without quantifier, types that don't fit, an order or section through a to-many relationship. The
    /// offset then is one in the predicate's ``ObjectPredicate/format``.
    public init(
        _ request: FetchRequest, sectionKeyPath: String? = nil, refreshKeyPaths: [String] = [],
        in model: CompiledModel
    ) throws(TandemError) {
        guard let entity = model.entity(named: request.entity) else {
            throw model.unknownEntity(request.entity)
        }
        self.request = request
        self.sectionKeyPath = sectionKeyPath
        self.refreshKeyPaths = refreshKeyPaths
        self.model = model
        self.entity = entity
        var resolver = PathResolver(model, entity)
        var predicate: PredicateNode?
        if let source = request.predicate {
            var compiler = try PredicateCompiler(resolver, source)
            predicate = try compiler.compile(source)
            resolver = compiler.resolver
        }
        self.predicate = predicate
        sort = try KeyPaths.sort(request.sort, &resolver)
        sectionPath = try KeyPaths.section(sectionKeyPath, &resolver)
        refreshPaths = try KeyPaths.refresh(refreshKeyPaths, &resolver)
        let placing = [sectionPath].compactMap { $0 } + sort.map(\.path)
        placingSlot =
            placing.first { $0.root == 0 && $0.hops.count == 1 && !$0.isToMany }?.hops[0].slot
        paths = resolver.observed
        constraints = predicate.map { ConstraintFinder.constraints($0, of: entity) } ?? []
        let related = paths.filter { !$0.staysInRow }
        predicateUsesRelated = related.contains { $0.usage.contains(.predicate) }
        predicateReadsTexts = paths.contains { path in
            path.hops.isEmpty && path.usage.contains(.predicate)
                && path.final.map { entity.properties[$0.slot].attribute?.type == .string } ?? false
        }
        keysUseRelated = related.contains { !$0.usage.isDisjoint(with: [.sort, .section]) }
        usesToMany = paths.contains { $0.hops.contains(where: \.isToMany) }
    }

    /// True when an object of an entity can be in the result.
    public func includes(tag: EntityTag) -> Bool {
        tag == entity.tag || request.includesSubentities && entity.includes(tag)
    }

    // MARK: Evaluation

    /// Whether an object matches; nil when that depends on something that the reader does not hold.
    ///
    /// Cost: well below a microsecond when the predicate stays in the row.
    public func matches<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> Bool? {
        row.withView { matches(object, $0, reader) }
    }

    /// The same of a row that is lent.
    public func matches<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> Bool? {
        guard includes(tag: row.tag), let evaluation = evaluation(object, row) else { return false }
        guard let predicate else { return true }
        // What stays in the row needs the reader only for texts that are too long for it.
        if !predicateUsesRelated, let known = evaluation.holds(predicate, NoReader()) {
            return known
        }
        return evaluation.holds(predicate, reader)
    }

    /// The evaluation of an object, for as long as its row is lent; nil when that is of no known entity.
    @inline(__always)
    func evaluation(_ object: ObjectReference, _ row: RowView) -> Evaluation? {
        let tag = row.tag
        if tag == entity.tag {
            let scope = Evaluation.Scope(object: object, row: row, entity: entity)
            return Evaluation(model: model, object: scope)
        }
        guard entity.includes(tag), let own = model.entity(tagged: tag) else { return nil }
        return Evaluation(
            model: model, object: Evaluation.Scope(object: object, row: row, entity: own))
    }
}

/// Holds nothing: for what stays within a row.
struct NoReader: GraphReader {
    func row(of object: ObjectReference) -> RowLookup { .unknown }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}

extension ObservedPath {
    /// True when the path reads nothing but the object's own row.
    public var staysInRow: Bool {
        hops.isEmpty || hops.count == 1 && final == nil && !hops[0].isToMany
    }
}

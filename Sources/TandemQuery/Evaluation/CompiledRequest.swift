public import TandemModel

/// A request resolved against a model, with slots instead of names and constants of the columns'
/// types.
///
/// A compiled request is immutable: compile it once and evaluate it for every row. A row must be
/// valid for its entity in the same model. If the result depends on an object or text that the
/// reader does not have, it is nil, which means unknown.
@usableFromInline package struct CompiledRequest: Sendable {
    /// The request as declared.
    @usableFromInline package let request: FetchDescriptor
    /// The key path of section names; nil for a list without sections.
    package let sectionKeyPath: String?
    /// The key paths whose values refresh a row.
    package var refreshKeyPaths: [String] { refresh.map(\.keyPath) }
    /// The model.
    package let model: CompiledModel
    /// The fetched entity.
    @usableFromInline package let entity: CompiledEntity
    /// All key paths on which the request depends.
    package let paths: [ObservedPath]
    /// The constraints on the object's own attributes and to-one relationships at the top level of
    /// the predicate.
    package let constraints: [SlotConstraint]
    /// Whether the predicate depends on related objects.
    package let predicateUsesRelated: Bool
    /// Whether the predicate compares texts of the object's own row, which may be stored outside
    /// the row.
    package let predicateReadsTexts: Bool
    /// Whether any path contains a to-many relationship.
    package let usesToMany: Bool

    let predicate: PredicateNode?
    let sort: [(path: CompiledPath, key: SortComponent)]
    let sectionPath: CompiledPath?
    let refresh: [(keyPath: String, path: CompiledPath)]
    /// The to-one relationship of the first one-hop path of the sort keys and the sections; nil if
    /// there is none.
    let groupingSlot: Int?

    /// Returns the request compiled with a different model, or with a copy of its model.
    ///
    /// Throws ``TandemError`` like ``init(_:sectionKeyPath:refreshKeyPaths:in:)``.
    @usableFromInline
    package func compiled(in model: CompiledModel) throws(TandemError) -> CompiledRequest {
        try CompiledRequest(
            request, sectionKeyPath: sectionKeyPath, refreshKeyPaths: refreshKeyPaths, in: model)
    }

    /// Resolves a request.
    ///
    /// Throws ``TandemError`` with `unknownEntity`, `unknownProperty`, `limitExceeded` or
    /// `invalidPredicate`. The code `invalidPredicate` is used for a to-many path without a
    /// quantifier, for types that can't be compared, and for an order or section through a to-many
    /// relationship. The error's offset refers to the predicate's ``PredicateTree/format``.
    package init(
        _ request: FetchDescriptor, sectionKeyPath: String? = nil, refreshKeyPaths: [String] = [],
        in model: CompiledModel
    ) throws(TandemError) {
        guard let entity = model.entity(named: request.entity) else {
            throw model.unknownEntity(request.entity)
        }
        self.request = request
        self.sectionKeyPath = sectionKeyPath
        self.model = model
        self.entity = entity
        var resolver = PathResolver(model, entity)
        var predicate: PredicateNode?
        if let source = request.predicate?.tree {
            var compiler = try PredicateCompiler(resolver, source)
            predicate = try compiler.compile(source)
            resolver = compiler.resolver
        }
        self.predicate = predicate
        sort = try KeyPaths.sort(request.sort, &resolver)
        sectionPath = try KeyPaths.section(sectionKeyPath, &resolver)
        refresh = Array(zip(refreshKeyPaths, try KeyPaths.refresh(refreshKeyPaths, &resolver)))
        let placing = [sectionPath].compactMap { $0 } + sort.map(\.path)
        groupingSlot =
            placing.first { $0.root == 0 && $0.hops.count == 1 && !$0.isToMany }?.hops[0].slot
        paths = resolver.observed
        constraints = predicate.map { ConstraintFinder.constraints($0, of: entity) } ?? []
        predicateUsesRelated = paths.contains {
            !$0.staysInRow && $0.usage.contains(.predicate)
        }
        predicateReadsTexts = paths.contains { path in
            path.hops.isEmpty && path.usage.contains(.predicate)
                && path.final.map { entity.properties[$0.slot].attribute?.type == .string } ?? false
        }
        usesToMany = paths.contains { $0.hops.contains(where: \.isToMany) }
    }

    /// Returns whether objects of an entity can be in the result.
    @inlinable package func includes(tag: EntityTag) -> Bool {
        tag == entity.tag || request.includesSubentities && entity.includes(tag)
    }

    // MARK: Evaluation

    /// Returns whether an object matches; nil if that depends on an object or text that the reader
    /// lacks.
    ///
    /// Cost: well below a microsecond if the predicate depends only on the row.
    package func matches<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: Row, _ reader: borrowing R
    ) -> Bool? {
        row.withView { matches(object, $0, reader) }
    }

    /// Returns whether an object with a borrowed row matches.
    package func matches<R: GraphReader & ~Copyable>(
        _ object: ObjectReference, _ row: RowView, _ reader: borrowing R
    ) -> Bool? {
        guard includes(tag: row.tag), let evaluation = evaluation(object, row) else { return false }
        guard let predicate else { return true }
        // If the predicate depends only on the row, the reader is needed only for texts stored
        // outside the row.
        if !predicateUsesRelated, let known = evaluation.holds(predicate, EmptyReader()) {
            return known
        }
        return evaluation.holds(predicate, reader)
    }

    /// Returns the evaluation of an object, valid while the row is borrowed; nil if its entity is
    /// unknown.
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

/// A reader without objects, for conditions on a single row.
struct EmptyReader: GraphReader {
    func row(of object: ObjectReference) -> RowLookup { .unknown }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? { nil }
}

extension ObservedPath {
    /// Whether the path depends only on the object's own row.
    package var staysInRow: Bool {
        hops.isEmpty || hops.count == 1 && final == nil && !hops[0].isToMany
    }
}

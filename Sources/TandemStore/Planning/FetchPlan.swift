import TandemModel
import TandemQuery

/// A plan for a fetch: the source of the candidates, their order, and whether they all match.
///
/// A request has several plans (``plans(for:_:isPast:)``), which all produce the same answer.
/// ``FetchPlanner`` chooses the cheapest.
struct FetchPlan {
    /// The order in which candidates are found.
    enum Order {
        /// An order other than the request's.
        case none
        /// By object number, which is the order of a request without sort keys.
        case number
        /// The request's order, because an index is scanned in that order.
        case index(IndexOrder)
        /// An order other than the request's; the keys of an index determine every candidate's
        /// placement.
        case keys(CompiledIndex, IndexPlacementReader)
    }

    /// The source of the candidates.
    var access: AccessPath
    /// Whether every candidate matches, so that the predicate need not be evaluated.
    var findsOnlyMatches = false
    /// The order in which candidates are found.
    var order = Order.none
    /// The reader of placements from index keys; nil if placements have to be made from rows.
    var placementReader: IndexPlacementReader?

    /// Returns whether the plan reads no rows for a kind of result.
    func needsNoRows(for kind: FetchResultKind) -> Bool {
        switch kind {
        case .count: findsOnlyMatches
        case .references, .list: findsOnlyMatches && placementReader != nil
        case .rows: false
        }
    }

    /// Whether candidates are found in the request's order.
    var isOrdered: Bool {
        switch order {
        case .none, .keys: false
        case .number, .index: true
        }
    }

    /// Whether the candidates are all objects of the entities.
    var isScan: Bool { if case .scan = access { true } else { false } }

    /// Whether the search can end before all candidates have been found.
    ///
    /// This is impossible if candidates are collected before they are evaluated.
    var endsEarly: Bool {
        switch (access, order) {
        case (.scan, .number), (_, .index): true
        default: false
        }
    }
}

extension FetchPlan {
    /// Returns all plans for a request, the scan first.
    ///
    /// Plans over related objects are omitted for reads of the past, because the store has only
    /// current links.
    static func plans(
        for request: CompiledRequest, _ kind: FetchResultKind, isPast: Bool = false
    ) -> [FetchPlan] {
        var plans = [scan(request, kind)]
        plans += request.constraints.compactMap { members($0, request, kind) }
        plans += request.entity.uniqueness.compactMap {
            UniqueKeys($0, request.constraints).map { unique($0, request) }
        }
        for index in request.entity.indexes {
            plans += self.plans(over: index, request, kind)
        }
        guard !isPast else { return plans }
        plans += request.requiredMembers.prefix(mostRelated).map {
            FetchPlan(access: .holders($0), order: byNumber(request))
        }
        return plans
            + request.relatedConditions.prefix(mostRelated).compactMap { related($0, request) }
    }

    /// The maximum number of conditions on related objects for which plans are made.
    ///
    /// The number is limited because the keys of all plans are counted without interruption.
    private static let mostRelated = 8

    /// Returns the plans over disjunctions whose alternatives all have an index, a relationship or
    /// a unique value.
    ///
    /// `choose` selects one of the paths of each alternative, which are roughly in order of
    /// selectivity.
    static func unions<Failure: Error>(
        for request: CompiledRequest,
        _ choose: ([AccessPath]) throws(Failure) -> AccessPath
    ) throws(Failure) -> [FetchPlan] {
        var plans: [FetchPlan] = []
        for alternatives in request.alternatives.prefix(mostUnions)
        where alternatives.count <= mostAlternatives {
            let paths = alternatives.map { self.paths($0, request) }
            guard paths.allSatisfy({ !$0.isEmpty }) else { continue }
            var chosen: [AccessPath] = []
            for path in paths { chosen.append(try choose(path)) }
            plans.append(FetchPlan(access: .any(of: chosen), order: byNumber(request)))
        }
        return plans
    }

    /// The maximum number of disjunctions for which plans are made, and of alternatives in each.
    ///
    /// The numbers are limited because the keys of all plans are counted without interruption.
    private static let mostUnions = 2
    static let mostAlternatives = 32

    /// Returns the access paths to the objects that satisfy constraints, roughly in order of
    /// selectivity.
    ///
    /// No keys are counted.
    private static func paths(
        _ constraints: [SlotConstraint], _ request: CompiledRequest
    ) -> [AccessPath] {
        let unique = request.entity.uniqueness.compactMap { UniqueKeys($0, constraints) }
            .sorted { $0.keys.count < $1.keys.count }
        let indexes = request.entity.indexes.map { ($0, IndexBounds($0, constraints)) }
            .filter { $0.1.used > 0 }.sorted { ($0.1.fixed, $0.1.used) > ($1.1.fixed, $1.1.used) }
        return unique.map { .unique($0) }
            + constraints.compactMap { access(by: $0, request) }
            + indexes.map { .index($0, ranges: $1.ranges) }
    }

    /// Returns the plan that looks up a single unique key; nil if the request's constraints do not
    /// determine one.
    static func unique(_ request: CompiledRequest) -> FetchPlan? {
        for constraint in request.entity.uniqueness {
            if let keys = UniqueKeys(constraint, request.constraints, atMost: 1) {
                return unique(keys, request)
            }
        }
        return nil
    }

    private static func unique(_ keys: UniqueKeys, _ request: CompiledRequest) -> FetchPlan {
        FetchPlan(access: .unique(keys), order: byNumber(request))
    }

    private static func scan(_ request: CompiledRequest, _ kind: FetchResultKind) -> FetchPlan {
        let isOneTable =
            !request.request.includesSubentities || request.entity.descendants.count == 1
        return FetchPlan(
            access: .scan,
            findsOnlyMatches: request.constraintsImplyPredicate && request.constraints.isEmpty,
            order: isOneTable ? byNumber(request) : .none,
            placementReader: placementReader(request, nil, kind))
    }

    /// Returns the scan with its rows ordered group by group by an index; nil if the plan isn't a
    /// scan that returns all rows, or there is no suitable index.
    func orderedByKeys(_ request: CompiledRequest, _ kind: FetchResultKind) -> FetchPlan? {
        guard isScan, kind == .rows, findsOnlyMatches, request.isWhole else { return nil }
        for index in request.entity.indexes {
            guard request.isOfAll(in: index),
                let placementReader = IndexPlacementReader(request, index, kind),
                placementReader.isGrouped
            else { continue }
            var plan = self
            plan.order = .keys(index, placementReader)
            return plan
        }
        return nil
    }

    private static func byNumber(_ request: CompiledRequest) -> Order {
        request.sortColumns?.isEmpty == true ? .number : .none
    }

    private static func members(
        _ constraint: SlotConstraint, _ request: CompiledRequest, _ kind: FetchResultKind
    ) -> FetchPlan? {
        access(by: constraint, request).map { access in
            FetchPlan(
                access: access,
                findsOnlyMatches: request.constraintsImplyPredicate
                    && request.constraints.count == 1,
                order: byNumber(request), placementReader: placementReader(request, nil, kind))
        }
    }

    /// Returns the path over the inverse of a to-one relationship that must refer to a given
    /// object; nil for other constraints.
    private static func access(
        by constraint: SlotConstraint, _ request: CompiledRequest
    ) -> AccessPath? {
        let property = request.entity.properties[constraint.slot]
        guard case .equals(.reference(let target)) = constraint.condition,
            let relationship = property.relationship, relationship.inverseToMany,
            let inverse = request.model.entity(tagged: relationship.destination)?
                .properties[relationship.inverseSlot].relationship
        else { return nil }
        return .members(of: target, link: inverse.linkID, name: property.name)
    }

    /// Returns the plans over an index: one that reads its ranges and, if the read may end early,
    /// one that reads them in the request's order.
    private static func plans(
        over index: CompiledIndex, _ request: CompiledRequest, _ kind: FetchResultKind
    ) -> [FetchPlan] {
        let bounds = IndexBounds(index, request.constraints)
        var plan = FetchPlan(access: .index(index, ranges: bounds.ranges))
        plan.findsOnlyMatches =
            request.constraintsImplyPredicate && bounds.met.count == request.constraints.count
        plan.order = byNumber(request)
        plan.placementReader = plan.findsOnlyMatches ? placementReader(request, index, kind) : nil
        var walk = plan
        if let columns = request.sortColumns, !columns.isEmpty, kind != .count,
            request.request.limit != nil,
            let order = IndexOrder(index, bounds, columns, request.entity)
        {
            walk.order = .index(order)
            return bounds.used > 0 ? [walk, plan] : [walk]
        }
        // Without a range, an index is useful only if no rows have to be read.
        let isUseful = plan.needsNoRows(for: kind) && request.isOfAll(in: index)
        return bounds.used > 0 || isUseful ? [plan] : []
    }

    /// Returns the reader of placements from index keys; nil if the result has no placements, or
    /// if the keys lack a component of them.
    ///
    /// Without an index, references need no placements if they need no order.
    private static func placementReader(
        _ request: CompiledRequest, _ index: CompiledIndex?, _ kind: FetchResultKind
    ) -> IndexPlacementReader? {
        guard kind == .references || kind.isList && index != nil else { return nil }
        return IndexPlacementReader(request, index, kind)
    }

    private static func related(
        _ condition: RelatedCondition, _ request: CompiledRequest
    ) -> FetchPlan? {
        // A condition may be valid as part of a path, but not as a separate request.
        guard let target = try? CompiledRequest(condition.target, in: request.model) else {
            return nil
        }
        return FetchPlan(
            access: .related(condition, target, FetchPlan(access: .scan)),
            order: byNumber(request))
    }
}

extension CompiledRequest {
    /// Whether all objects in an index belong to the request's entities.
    ///
    /// An inherited index also contains objects of other entities, which may outnumber those of the
    /// request's entities.
    fileprivate func isOfAll(in index: CompiledIndex) -> Bool {
        model.entity(tagged: index.entity)?.descendants.allSatisfy { includes(tag: $0) } ?? false
    }
}

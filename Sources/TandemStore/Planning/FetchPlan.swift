import TandemModel
import TandemQuery

/// How a fetch is carried out: a value that says where candidates come from, what of the request that settles, and in what order they come.
///
/// A request has several plans (``plans(for:_:isPast:)``), all of which give the same; ``FetchPlanner`` takes the cheapest.
struct FetchPlan {
    /// The order in which candidates come.
    enum Order {
        /// Not the request's.
        case none
        /// By number, and the request has no other order.
        case number
        /// The request's, by walking an index.
        case index(IndexOrder)
        /// None; but the keys of an index say where each stands.
        case keys(CompiledIndex, IndexPlaces)
    }

    /// Where candidates come from.
    var access: AccessPath
    /// Whether every candidate matches, so that the predicate need not be evaluated.
    var decides = false
    /// The order in which they come.
    var order = Order.none
    /// Where the components of the request's sort key stand in the index's keys; nil where they have to be read from the row.
    var keys: IndexSortKey?
    /// What says by the index's keys where objects stand in the part of the answer; nil where rows have to be read for that.
    var places: IndexPlaces?

    /// Whether rows need not be read at all to give a part of the answer.
    func needsNoRows(for part: FetchPart) -> Bool {
        switch part {
        case .count: decides
        case .references: decides && (keys != nil || places != nil)
        case .list: decides && places != nil
        case .rows: false
        }
    }

    /// Whether candidates come in the request's order.
    var isOrdered: Bool {
        switch order {
        case .none, .keys: false
        case .number, .index: true
        }
    }

    /// Whether it is a scan that an index puts in order.
    var isOrderedByKeys: Bool { if case .keys = order { true } else { false } }

    /// Whether it can end before all that leads to candidates was read: what is collected before it is looked at can't.
    var endsEarly: Bool {
        switch (access, order) {
        case (.scan, .number), (_, .index): true
        default: false
        }
    }
}

extension FetchPlan {
    /// All plans for a request, the scan first; without those over related objects where what those were is not known.
    static func plans(
        for request: CompiledRequest, _ part: FetchPart, isPast: Bool = false
    ) -> [FetchPlan] {
        var plans = [scan(request)]
        plans += ordered(plans[0], request, part)
        plans += request.constraints.compactMap { members($0, request) }
        plans += request.entity.uniqueness.compactMap {
            UniqueKeys($0, request.constraints).map { unique($0, request) }
        }
        for index in request.entity.indexes {
            plans += self.plans(over: index, request, part)
        }
        guard !isPast else { return plans }
        plans += request.requiredMembers.prefix(mostRelated).map {
            FetchPlan(access: .holders($0), order: byNumber(request))
        }
        return plans
            + request.relatedConditions.prefix(mostRelated).compactMap { related($0, request) }
    }

    /// So many conditions on related objects are planned for; each costs counting, all in one turn.
    private static let mostRelated = 8

    /// The plans over disjunctions each of whose alternatives has an index, a relationship or a unique value: all that any of these leads to.
    ///
    /// Which of the paths of an alternative is taken is the caller's choice; the one that seems narrowest comes first.
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

    /// So many disjunctions of a request are planned for, with so many alternatives each; all of them are counted in one turn.
    private static let mostUnions = 2
    static let mostAlternatives = 32

    /// The paths to what holds to some constraints, the narrowest first as far as that can be told without counting.
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

    /// The plan that looks up one unique value; nil for a request that asks for none, or for more.
    static func unique(_ request: CompiledRequest) -> FetchPlan? {
        for constraint in request.entity.uniqueness {
            if let keys = UniqueKeys(constraint, request.constraints, atMost: 1) {
                return unique(keys, request)
            }
        }
        return nil
    }

    private static func unique(_ keys: UniqueKeys, _ request: CompiledRequest) -> FetchPlan {
        FetchPlan(
            access: .unique(keys), order: byNumber(request), keys: IndexSortKey(ofNothing: request))
    }

    private static func scan(_ request: CompiledRequest) -> FetchPlan {
        let isOneTable =
            !request.request.includesSubentities || request.entity.descendants.count == 1
        return FetchPlan(
            access: .scan, decides: request.constraintsDecide && request.constraints.isEmpty,
            order: isOneTable ? byNumber(request) : .none,
            keys: IndexSortKey(ofNothing: request))
    }

    /// The scan of all rows that an index puts in order, group by group, if there is such an index.
    private static func ordered(
        _ scan: FetchPlan, _ request: CompiledRequest, _ part: FetchPart
    ) -> [FetchPlan] {
        guard part == .rows, scan.decides, request.isWhole else { return [] }
        for index in request.entity.indexes {
            guard request.isOfAll(in: index), let places = IndexPlaces(request, index, part),
                places.isGrouped
            else { continue }
            var plan = scan
            plan.order = .keys(index, places)
            return [plan]
        }
        return []
    }

    private static func byNumber(_ request: CompiledRequest) -> Order {
        request.sortColumns?.isEmpty == true ? .number : .none
    }

    private static func members(
        _ constraint: SlotConstraint, _ request: CompiledRequest
    ) -> FetchPlan? {
        access(by: constraint, request).map { access in
            FetchPlan(
                access: access,
                decides: request.constraintsDecide && request.constraints.count == 1,
                order: byNumber(request), keys: IndexSortKey(ofNothing: request))
        }
    }

    /// The inverse of a to-one relationship that has to lead to an object; nil for another constraint.
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

    /// The plans over an index: one for what it leads to, and one that walks it in the request's order, where that may end early.
    private static func plans(
        over index: CompiledIndex, _ request: CompiledRequest, _ part: FetchPart
    ) -> [FetchPlan] {
        let bounds = IndexBounds(index, request.constraints)
        var plan = FetchPlan(access: .index(index, ranges: bounds.ranges))
        plan.decides =
            request.constraintsDecide && bounds.met.count == request.constraints.count
        plan.order = byNumber(request)
        plan.keys = IndexSortKey(request, index)
        if plan.decides, plan.keys == nil || part.isList,
            bounds.used > 0 || request.isOfAll(in: index)
        {
            plan.places = IndexPlaces(request, index, part)
        }
        var walk = plan
        if let columns = request.sortColumns, !columns.isEmpty, part != .count,
            request.request.limit != nil,
            let order = IndexOrder(index, bounds, columns, request.entity)
        {
            walk.order = .index(order)
            walk.places = nil
            return bounds.used > 0 ? [walk, plan] : [walk]
        }
        // Without anything to look for it saves reading rows, or nothing.
        return bounds.used > 0 || plan.needsNoRows(for: part) ? [plan] : []
    }

    private static func related(
        _ condition: RelatedCondition, _ request: CompiledRequest
    ) -> FetchPlan? {
        // What fits a relationship's end as part of a path may not fit as a request of its own.
        guard let target = try? CompiledRequest(condition.target, in: request.model) else {
            return nil
        }
        return FetchPlan(
            access: .related(condition, target, FetchPlan(access: .scan)),
            order: byNumber(request))
    }
}

/// Makes sort keys of the keys of an index, so that rows need not be read to put objects in order.
struct IndexSortKey {
    private let components: IndexComponents?
    private let parts: [(place: Int, ascending: Bool)]

    /// The sort key of a request from the keys of an index; nil where that lacks a component.
    init?(_ request: CompiledRequest, _ index: CompiledIndex) {
        guard let columns = request.sortColumns else { return nil }
        let places = columns.compactMap { index.slots.firstIndex(of: $0.slot) }
        guard places.count == columns.count else { return nil }
        components = places.isEmpty ? nil : IndexComponents(index, request.entity)
        parts = zip(places, columns).map { ($0, $1.ascending) }
    }

    /// The empty sort key; nil for a request with another.
    init?(ofNothing request: CompiledRequest) {
        guard request.sortColumns?.isEmpty == true else { return nil }
        (components, parts) = (nil, [])
    }

    /// Whether there is nothing to order by but numbers.
    var isEmpty: Bool { parts.isEmpty }

    /// The sort key; nil where a component was cut.
    func key(_ key: UnsafeRawBufferPointer) -> [UInt8]? {
        var result: [UInt8] = []
        guard let components else { return result }
        for part in parts {
            guard let range = components.component(key, part.place) else { return nil }
            let bytes = key[range]
            result += part.ascending ? Array(bytes) : bytes.map { ~$0 }
        }
        return result
    }
}

extension CompiledRequest {
    /// Whether all objects of an index are of the request's entities: one that is inherited has others too, more than there are rows to be read, perhaps.
    fileprivate func isOfAll(in index: CompiledIndex) -> Bool {
        model.entity(tagged: index.entity)?.descendants.allSatisfy { includes(tag: $0) } ?? false
    }
}

import TandemModel
import TandemQuery

/// Takes the plan of a request that reads least.
///
/// What an index would lead to is counted, all candidates side by side and at most ``mostCounted`` keys of each: so to plan costs no more than a
/// few times the best of them. Where all lead to more, rows from everywhere tell what part of all each would lead to.
struct FetchPlanner {
    private let store: StoreView
    private let request: CompiledRequest
    private let part: FetchPart
    private let depth: Int

    /// So many keys are counted of one plan.
    static let mostCounted = 4_096
    /// So many relationships are followed, one behind the other.
    private static let mostHops = 4
    /// What leads to fewer keys or rows is little.
    private static let mostOfLittle = 256
    /// So many keys are counted of one path of an alternative, where it has several.
    private static let mostOfAlternative = 256

    /// A planner of one request.
    init(_ request: CompiledRequest, for part: FetchPart, in store: StoreView, depth: Int = 0) {
        self.store = store
        self.request = request
        self.part = part
        self.depth = depth
    }

    /// The plan.
    func plan(isPast: Bool = false) throws(StoreError) -> FetchPlan {
        // Nothing leads to less than one object.
        if let plan = FetchPlan.unique(request) { return plan }
        let isTooDeep = depth >= Self.mostHops
        let plans =
            try FetchPlan.plans(for: request, part, isPast: isPast || isTooDeep)
            + FetchPlan.unions(for: request, narrowest)
        let ordered = plans.first { $0.isOrderedByKeys }
        let best = try best(of: plans.filter { !$0.isOrderedByKeys })
        // A scan all the same, without sort keys to be made.
        if let ordered, case .scan = best.access { return ordered }
        return best
    }

    /// A plan that looks at no more than a few hundred keys and rows; nil if no plan is sure to.
    ///
    /// Cost: at most ``mostOfLittle`` keys for each plan. No row is read, as the predicate may take long to evaluate.
    func littlePlan() throws(StoreError) -> FetchPlan? {
        if let plan = FetchPlan.unique(request) { return plan }
        let plans =
            FetchPlan.plans(for: request, part) + FetchPlan.unions(for: request) { $0[0] }
        if let plan = try counted(plans.filter { !$0.isOrderedByKeys }, Self.mostOfLittle) {
            return plan
        }
        let scan = plans[0]
        if scan.endsEarly, scan.decides, part != .count, let wanted = request.wanted {
            return wanted < Self.mostOfLittle ? scan : nil
        }
        let rows = try store.countRows(of: request, atMost: Self.mostOfLittle)
        return rows < Self.mostOfLittle ? scan : nil
    }

    private func best(of plans: [FetchPlan]) throws(StoreError) -> FetchPlan {
        guard plans.count > 1 else { return plans[0] }
        for most in [16, 256, Self.mostCounted] {
            if let plan = try counted(plans, most) { return plan }
        }
        return try sampled(plans)
    }

    /// The path of an alternative that leads to the fewest keys, as far as these are counted.
    private func narrowest(_ paths: [AccessPath]) throws(StoreError) -> AccessPath {
        guard paths.count > 1 else { return paths[0] }
        var (best, least) = (paths[0], Self.mostOfAlternative)
        for path in paths {
            guard let keys = try store.keys(of: path, atMost: least), keys < least else { continue }
            (best, least) = (path, keys)
        }
        return best
    }

    /// The plan with the best one for related objects in it.
    private func completed(_ plan: FetchPlan) throws(StoreError) -> FetchPlan {
        guard case .related(let condition, let target, _) = plan.access else { return plan }
        let planner = FetchPlanner(target, for: .references, in: store, depth: depth + 1)
        var plan = plan
        plan.access = .related(condition, target, try planner.plan())
        return plan
    }

    // MARK: By counting

    /// The cheapest of the plans that lead to less than some number of keys, unless a scan is cheaper; nil where all lead to more.
    private func counted(_ plans: [FetchPlan], _ most: Int) throws(StoreError) -> FetchPlan? {
        var best: (plan: FetchPlan, cost: Double)?
        for plan in plans {
            guard let keys = try keys(of: plan, most) else { continue }
            let cost = PlanCost.of(plan, keys: Double(keys), for: part)
            if cost < best?.cost ?? .infinity { best = (plan, cost) }
        }
        guard let best else { return nil }
        return try scanCost(plans[0], atMost: best.cost) <= best.cost ? plans[0] : best.plan
    }

    /// How many keys a plan looks at; nil for more than are counted, and where counting does not tell.
    private func keys(of plan: FetchPlan, _ most: Int) throws(StoreError) -> Int? {
        var most = most
        if plan.endsEarly, plan.decides, let wanted = request.wanted, part != .count,
            wanted <= most
        {
            // It ends with the last one that is wanted.
            most = wanted
            return min(try store.keys(of: plan.access, atMost: most) ?? most, most)
        }
        guard let keys = try store.keys(of: plan.access, atMost: most), keys < most else {
            return nil
        }
        return keys
    }

    /// What a scan costs, as far as that is less than something.
    private func scanCost(_ scan: FetchPlan, atMost most: Double) throws(StoreError) -> Double {
        let one = PlanCost.of(scan, keys: 1, for: part)
        let enough = Int(min(most / one, Double(Self.mostCounted)).rounded(.up)) + 1
        if scan.endsEarly, scan.decides, part != .count, let wanted = request.wanted {
            return Double(min(wanted, enough)) * one
        }
        return Double(try store.countRows(of: request, atMost: enough)) * one
    }

    // MARK: By samples

    /// The cheapest plan by what rows from everywhere say; the scan where none is cheaper.
    private func sampled(_ plans: [FetchPlan]) throws(StoreError) -> FetchPlan {
        let sample = try RowSample(of: request, store)
        let all = try store.estimatedRows(of: request)
        let matching = try sample.share { request.matches($0, $1, $2) ?? false }
        var best = (plan: plans[0], cost: Double.infinity)
        for plan in plans {
            let plan = try completed(plan)
            let share = try share(of: plan, sample, all)
            var keys = all * share
            if plan.endsEarly, part != .count, let wanted = request.wanted {
                keys = min(keys, Double(wanted) * (plan.decides ? 1 : share / matching))
            }
            var cost = PlanCost.of(plan, keys: keys, for: part)
            if case .related(_, let target, let inner) = plan.access {
                cost += try relatedCost(target, inner)
            }
            if cost < best.cost { best = (plan, cost) }
        }
        return best.plan
    }

    /// The part of all rows that a plan leads to.
    private func share(
        of plan: FetchPlan, _ sample: RowSample, _ all: Double
    ) throws(StoreError) -> Double {
        switch plan.access {
        case .scan: return 1
        case .unique(let unique): return min(1, Double(unique.keys.count) / max(1, all))
        case .members, .index, .union:
            return try sample.share { object, row, _ in leads(plan.access, to: object, row) }
        case .holders(let member): return try share(of: member.part, sample)
        case .related(let condition, _, _): return try share(of: condition.part, sample)
        }
    }

    /// The part of all rows that a part of the predicate holds for.
    private func share(
        of part: ObjectPredicate, _ sample: RowSample
    ) throws(StoreError) -> Double {
        let own = FetchRequest(entity: request.entity.name, predicate: part)
        guard let part = try? CompiledRequest(own, in: request.model) else { return 1 }
        return try sample.share { part.matches($0, $1, $2) ?? false }
    }

    /// Whether a path leads to an object of the sample, as its own row says; one over a related object hardly does.
    private func leads(_ path: AccessPath, to object: ObjectReference, _ row: Row) -> Bool {
        switch path {
        case .scan: return true
        case .holders, .related: return false
        case .unique(let unique):
            return StoreKey.unique(unique.constraint, row, entity(of: object))
                .map(unique.contains) ?? false
        case .members(let owner, _, let name):
            guard let slot = request.entity.slot(of: name) else { return true }
            return row.reference(slot, in: entity(of: object)) == owner
        case .index(let index, let ranges):
            let key = StoreKey.index(index, row, entity(of: object), object.number)
            return ranges.contains { $0.contains(key) }
        case .union(let parts): return parts.contains { leads($0, to: object, row) }
        }
    }

    /// What a row is laid out by: it may be of a subentity.
    private func entity(of object: ObjectReference) -> CompiledEntity {
        request.model.entity(tagged: object.tag) ?? request.entity
    }

    /// What it costs to find related objects; an index over more of them than are counted is not worth it.
    private func relatedCost(
        _ target: CompiledRequest, _ plan: FetchPlan
    ) throws(StoreError) -> Double {
        switch plan.access {
        case .scan:
            return PlanCost.of(plan, keys: try store.estimatedRows(of: target), for: .references)
        case .related(_, let next, let inner): return try relatedCost(next, inner)
        case .members, .unique, .index, .holders, .union:
            guard let keys = try store.keys(of: plan.access, atMost: Self.mostCounted) else {
                return .infinity
            }
            return PlanCost.of(plan, keys: Double(keys), for: .references)
        }
    }
}

/// What it costs to look at a candidate, where to judge the next row of a scan costs one.
enum PlanCost {
    /// A key of an index that is only counted.
    static let key = 0.25
    /// A key of an index, and its row, which lies elsewhere.
    static let lookup = 3.0

    /// The cost of a plan that looks at so many keys.
    static func of(_ plan: FetchPlan, keys: Double, for part: FetchPart) -> Double {
        if plan.needsNoRows(for: part) {
            // Of a short list the rows are in the answer.
            if case .list(let hops) = part, keys <= Double(hops.rowsUpTo) { return keys * lookup }
            return keys * key
        }
        if case .scan = plan.access { return keys }
        return keys * lookup
    }
}

extension CompiledRequest {
    /// How many of the first matches the answer is made of; nil for all.
    var wanted: Int? {
        request.limit.map { limit in
            let (sum, isMore) = max(0, request.offset).addingReportingOverflow(max(0, limit))
            return isMore ? .max : sum
        }
    }

    /// The entities whose rows are looked at.
    var tags: [EntityTag] { request.includesSubentities ? entity.descendants : [entity.tag] }
}

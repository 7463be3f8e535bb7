import TandemModel
import TandemQuery

/// Chooses the plan with the lowest cost.
///
/// The keys of all plans are counted, up to a limit that rises to ``mostCounted``. Planning
/// therefore costs at most a few times as much as the best plan. If every plan has more keys, the
/// share of rows that each plan finds is estimated from a sample of rows.
struct FetchPlanner {
    private let store: StoreView
    private let counter: KeyCounter
    private let request: CompiledRequest
    private let kind: FetchResultKind
    private let depth: Int

    /// The maximum number of keys that are counted for one plan.
    static let mostCounted = 4_096
    /// The maximum number of consecutive relationships that are followed.
    private static let mostHops = 4
    /// The number of keys or rows below which ``smallPlan()`` returns a plan.
    private static let smallReadLimit = 256
    /// The maximum number of keys counted for each of an alternative's paths.
    private static let mostOfAlternative = 256

    /// Creates the planner of a request.
    init(_ request: CompiledRequest, for kind: FetchResultKind, in store: StoreView, depth: Int = 0)
    {
        self.store = store
        counter = KeyCounter(store)
        self.request = request
        self.kind = kind
        self.depth = depth
    }

    /// Returns the cheapest plan.
    func plan(isPast: Bool = false) throws(StoreError) -> FetchPlan {
        // No other plan is cheaper than one that finds a single object.
        if let plan = FetchPlan.unique(request) { return plan }
        let isTooDeep = depth >= Self.mostHops
        let plans =
            try FetchPlan.plans(for: request, kind, isPast: isPast || isTooDeep)
            + FetchPlan.unions(for: request, narrowest)
        let best = try best(of: plans)
        // An ordered scan makes no sort keys.
        return best.orderedByKeys(request, kind) ?? best
    }

    /// Returns a plan that reads fewer than ``smallReadLimit`` keys and rows; nil if no plan does.
    ///
    /// Cost: at most ``smallReadLimit`` keys for each plan. No sample of rows is taken, because
    /// evaluating the predicate may take long.
    func smallPlan() throws(StoreError) -> FetchPlan? {
        if let plan = FetchPlan.unique(request) { return plan }
        let plans =
            FetchPlan.plans(for: request, kind) + FetchPlan.unions(for: request) { $0[0] }
        if let plan = try counted(plans, Self.smallReadLimit) { return plan }
        let scan = plans[0]
        if scan.findsOnlyMatches, let wanted = wanted(scan) {
            return wanted < Self.smallReadLimit ? scan : nil
        }
        let rows = try counter.countRows(of: request, atMost: Self.smallReadLimit)
        return rows < Self.smallReadLimit ? scan : nil
    }

    private func best(of plans: [FetchPlan]) throws(StoreError) -> FetchPlan {
        assert(plans.first?.isScan == true, "The scan is the first plan.")
        guard plans.count > 1 else { return plans[0] }
        for most in [16, 256, Self.mostCounted] {
            if let plan = try counted(plans, most) { return plan }
        }
        return try sampled(plans)
    }

    /// Returns the path with the fewest keys, according to a bounded count.
    private func narrowest(_ paths: [AccessPath]) throws(StoreError) -> AccessPath {
        guard paths.count > 1 else { return paths[0] }
        var (best, least) = (paths[0], Self.mostOfAlternative)
        for path in paths {
            guard let keys = try counter.keys(of: path, atMost: least), keys < least else {
                continue
            }
            (best, least) = (path, keys)
        }
        return best
    }

    /// Returns the plan, completed with the best plan for its related objects.
    private func completed(_ plan: FetchPlan) throws(StoreError) -> FetchPlan {
        guard case .related(let condition, let target, _) = plan.access else { return plan }
        assert(depth < Self.mostHops, "At most `mostHops` relationships are followed.")
        let planner = FetchPlanner(target, for: .references, in: store, depth: depth + 1)
        var plan = plan
        plan.access = .related(condition, target, try planner.plan())
        return plan
    }

    // MARK: By counting

    /// Returns the cheapest of the plans with fewer than `most` keys, or the scan if it is cheaper.
    ///
    /// The result is nil if every plan has at least `most` keys.
    private func counted(_ plans: [FetchPlan], _ most: Int) throws(StoreError) -> FetchPlan? {
        var best: (plan: FetchPlan, cost: Double)?
        for plan in plans {
            guard let keys = try keys(of: plan, most) else { continue }
            let cost = PlanCost.of(plan, keys: Double(keys), for: kind)
            if cost < best?.cost ?? .infinity { best = (plan, cost) }
        }
        guard let best else { return nil }
        return try scanCost(plans[0], atMost: best.cost) <= best.cost ? plans[0] : best.plan
    }

    /// Returns the number of keys that a plan reads; nil if it is not less than `most`, or can't be
    /// counted.
    private func keys(of plan: FetchPlan, _ most: Int) throws(StoreError) -> Int? {
        if plan.findsOnlyMatches, let wanted = wanted(plan), wanted <= most {
            return min(try counter.keys(of: plan.access, atMost: wanted) ?? wanted, wanted)
        }
        guard let keys = try counter.keys(of: plan.access, atMost: most), keys < most else {
            return nil
        }
        return keys
    }

    /// Returns the number of matches at which a plan ends; nil if it finds all of them.
    private func wanted(_ plan: FetchPlan) -> Int? {
        plan.endsEarly && kind != .count ? request.wanted : nil
    }

    /// Returns the cost of the scan, exact only if it is less than `most`.
    private func scanCost(_ scan: FetchPlan, atMost most: Double) throws(StoreError) -> Double {
        let one = PlanCost.of(scan, keys: 1, for: kind)
        let enough = Int(min(most / one, Double(Self.mostCounted)).rounded(.up)) + 1
        if scan.findsOnlyMatches, let wanted = wanted(scan) {
            return Double(min(wanted, enough)) * one
        }
        return Double(try counter.countRows(of: request, atMost: enough)) * one
    }

    // MARK: By sampling

    /// Returns the cheapest plan according to the sample; the scan if no other plan is cheaper.
    private func sampled(_ plans: [FetchPlan]) throws(StoreError) -> FetchPlan {
        let sample = try RowSample(of: request, store)
        let all = try counter.estimatedRows(of: request)
        let matching = try sample.share { request.matches($0, $1, $2) ?? false }
        var best = (plan: plans[0], cost: Double.infinity)
        for plan in plans {
            let plan = try completed(plan)
            let share = try share(of: plan, sample, all)
            var keys = all * share
            if let wanted = wanted(plan) {
                keys = min(keys, Double(wanted) * (plan.findsOnlyMatches ? 1 : share / matching))
            }
            var cost = PlanCost.of(plan, keys: keys, for: kind)
            if case .related(_, let target, let inner) = plan.access {
                cost += try relatedCost(target, inner)
            }
            if cost < best.cost { best = (plan, cost) }
        }
        return best.plan
    }

    /// Returns the share of all rows that a plan finds.
    private func share(
        of plan: FetchPlan, _ sample: RowSample, _ all: Double
    ) throws(StoreError) -> Double {
        switch plan.access {
        case .scan: return 1
        case .unique(let unique): return min(1, Double(unique.keys.count) / max(1, all))
        case .members, .index, .union:
            return try sample.share { object, row, _ in finds(plan.access, to: object, row) }
        case .holders(let member): return try share(of: member.part, sample)
        case .related(let condition, _, _): return try share(of: condition.part, sample)
        }
    }

    /// Returns the share of all rows that satisfy a part of the predicate.
    private func share(
        of part: ObjectPredicate, _ sample: RowSample
    ) throws(StoreError) -> Double {
        let own = FetchDescriptor(entity: request.entity.name, predicate: part)
        guard let part = try? CompiledRequest(own, in: request.model) else { return 1 }
        return try sample.share { part.matches($0, $1, $2) ?? false }
    }

    /// Returns whether a path finds an object of the sample, judging by the object's own row.
    ///
    /// The result is false for paths over related objects.
    private func finds(_ path: AccessPath, to object: ObjectReference, _ row: Row) -> Bool {
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
        case .union(let parts): return parts.contains { finds($0, to: object, row) }
        }
    }

    /// Returns the object's own entity, which determines the layout of its row.
    private func entity(of object: ObjectReference) -> CompiledEntity {
        request.model.entity(tagged: object.tag) ?? request.entity
    }

    /// Returns the cost of finding related objects.
    ///
    /// Keys are counted up to ``mostCounted``.
    private func relatedCost(
        _ target: CompiledRequest, _ plan: FetchPlan
    ) throws(StoreError) -> Double {
        switch plan.access {
        case .scan:
            return PlanCost.of(plan, keys: try counter.estimatedRows(of: target), for: .references)
        case .related(_, let next, let inner): return try relatedCost(next, inner)
        case .members, .unique, .index, .holders, .union:
            guard let keys = try counter.keys(of: plan.access, atMost: Self.mostCounted) else {
                return .infinity
            }
            return PlanCost.of(plan, keys: Double(keys), for: .references)
        }
    }
}

/// The costs of a candidate, relative to evaluating the next row of a scan, which costs 1.
enum PlanCost {
    /// The cost of an index key whose row is not read.
    static let key = 0.25
    /// The cost of an index key and of looking up its row.
    static let lookup = 3.0

    /// Returns the cost of a plan that reads a number of keys.
    static func of(_ plan: FetchPlan, keys: Double, for kind: FetchResultKind) -> Double {
        assert(keys >= 0, "A number of keys is not negative.")
        if plan.needsNoRows(for: kind) {
            // The answer to a request for a short list consists of rows.
            if case .list(let hops) = kind, keys <= Double(hops.rowsUpTo) { return keys * lookup }
            return keys * key
        }
        if case .scan = plan.access { return keys }
        return keys * lookup
    }
}

extension CompiledRequest {
    /// The number of leading matches needed for the answer, offset plus limit; nil for all.
    var wanted: Int? {
        request.limit.map { limit in
            let (sum, isMore) = max(0, request.offset).addingReportingOverflow(max(0, limit))
            return isMore ? .max : sum
        }
    }

    /// The entities whose rows are read.
    var tags: [EntityTag] { request.includesSubentities ? entity.descendants : [entity.tag] }
}

import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Every plan of a request gives what a look at every object gives, also while the store changes.
@Suite(.ownThread) struct FetchPlanTests {
    /// Every plan, with every plan for the related objects that it goes back from.
    private static func plans(_ request: CompiledRequest, _ part: FetchPart) -> [FetchPlan] {
        let unions = (try? FetchPlan.unions(for: request) { $0[0] }) ?? []
        return (FetchPlan.plans(for: request, part) + unions).flatMap { plan in
            guard case .related(let condition, let target, _) = plan.access else { return [plan] }
            return plans(target, .references).map { inner in
                var plan = plan
                plan.access = .related(condition, target, inner)
                return plan
            }
        }
    }

    private func check(
        _ request: FetchRequest, _ shelf: inout RandomShelf, isMoving: Bool, _ what: String
    ) throws -> Set<String> {
        let compiled = try CompiledRequest(request, in: try shelf.bench.model)
        var seen: Set<String> = []
        for part in [FetchPart.rows, .references, .count] {
            for plan in Self.plans(compiled, part) {
                let cursor = try FetchCursor(compiled, by: plan, for: part, in: shelf.bench.store)
                try shelf.carryOut(cursor, compiled, isMoving: isMoving)
                let found = try cursor.result()
                let all = try shelf.expected(request)
                let wanted = request.part(of: all)
                let how = "\(what) \(part) by \(plan.access) ordered \(plan.isOrdered)"
                seen.insert("\(plan.access.description.prefix { $0 != " " }) \(plan.isOrdered)")
                if part == .rows { #expect(found.objects.map(\.object) == wanted, "\(how)") }
                if part == .references { #expect(found.references == wanted, "\(how)") }
                let most = part == .count ? .max : compiled.wanted ?? .max
                #expect(found.count == min(all.count, most), "\(how)")
                if plan.needsNoRows(for: part), !isMoving {
                    let isCut = request.sort.contains { $0.keyPath == "name" }
                    #expect(found.rowsRead == 0 || isCut, "\(how) read \(found.rowsRead)")
                }
            }
        }
        return seen
    }

    @Test func `every plan finds what a look at every object finds`() throws {
        var plans: Set<String> = []
        for round in UInt64(0)..<Volume.of(3, deep: 4) {
            var shelf = try RandomShelf(seed: seed &+ round, objects: 120)
            for number in 0..<60 {
                if number % 4 == 0 { try shelf.step() }
                let request = try shelf.request()
                let what = "seed \(seed) round \(round): \(request)"
                plans.formUnion(try check(request, &shelf, isMoving: false, what))
            }
        }
        #expect(
            plans.isSuperset(of: [
                "scan true", "scan false", "index true", "index false", "related false",
                "related true", "any true", "any false", "inverse true", "inverse false",
                "unique true", "unique false",
            ]), "\(plans)")
    }

    @Test func `law 4: every plan finds it while others save`() throws {
        for round in UInt64(0)..<Volume.of(2, deep: 3) {
            var shelf = try RandomShelf(seed: seed &+ 100 &+ round, objects: 50)
            for _ in 0..<14 {
                let request = try shelf.request()
                let what = "seed \(seed) round \(round): \(request)"
                _ = try check(request, &shelf, isMoving: true, what)
            }
        }
    }

    @Test func `the plan that is taken finds it too`() throws {
        var shelf = try RandomShelf(seed: seed &+ 7, objects: 400)
        for _ in 0..<150 {
            let request = try shelf.request()
            let found = try shelf.bench.fetch(request)
            let wanted = request.part(of: try shelf.expected(request))
            #expect(
                found.objects.map(\.object) == wanted, "seed \(seed) \(request) \(found.plan)")
        }
    }

    @Test func `an earlier position is read by every plan as by a scan`() throws {
        for round in UInt64(0)..<Volume.of(2, deep: 3) {
            var shelf = try RandomShelf(seed: seed &+ 200 &+ round, objects: 80)
            let position = shelf.bench.store.appliedPosition
            var requests: [(FetchRequest, [ObjectReference])] = []
            for _ in 0..<30 {
                let request = try shelf.request()
                requests.append((request, try shelf.expected(request)))
            }
            for _ in 0..<25 { try shelf.step() }
            let past = PastGraph(at: position)
            var changed: Set<ObjectReference> = []
            let model = try shelf.bench.model
            for encoded in shelf.bench.log where encoded.position > position {
                for change in try encoded.decoded().changes {
                    past.undo(change, try #require(model.entity(tagged: change.object.tag)))
                    changed.insert(change.object)
                }
            }
            for (request, all) in requests {
                let compiled = try CompiledRequest(request, in: model)
                let plans = FetchPlan.plans(for: compiled, .references, isPast: true)
                for plan in try plans + FetchPlan.unions(for: compiled, { $0[0] }) {
                    let cursor = try FetchCursor(
                        compiled, by: plan, for: .references, in: shelf.bench.store, past: past)
                    cursor.touch(changed.filter { compiled.includes(tag: $0.tag) })
                    var budget = Int.max
                    while !(try cursor.step(&budget)) { budget = .max }
                    #expect(
                        try cursor.result().references == request.part(of: all),
                        "seed \(seed) round \(round): \(request) by \(plan.access)")
                }
            }
        }
    }
}

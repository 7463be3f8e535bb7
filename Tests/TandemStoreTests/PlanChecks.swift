import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// A request and its result at one position, found by evaluating every row there.
struct ExpectedFetch: Sendable {
    let request: FetchDescriptor
    let compiled: CompiledRequest
    /// All matches in order, regardless of the request's limit.
    let matches: [StoredObject]

    /// Creates a random request on the current content of a shelf.
    init(_ shelf: inout RandomShelf) throws { try self.init(try shelf.request(), in: shelf) }

    init(_ request: FetchDescriptor, in shelf: RandomShelf) throws {
        self.request = request
        compiled = try CompiledRequest(request, in: try shelf.bench.model)
        matches = try shelf.matches(compiled)
    }

    /// Returns every plan, including every plan for the related objects of inverse searches.
    static func plans(
        _ request: CompiledRequest, _ part: FetchResultKind, isPast: Bool = false
    ) -> [FetchPlan] {
        let unions = FetchPlan.unions(for: request) { $0[0] }
        let plans = FetchPlan.plans(for: request, part, isPast: isPast)
        let ordered = plans[0].orderedByKeys(request, part)
        return (plans + [ordered].compactMap(\.self) + unions).flatMap { plan in
            guard case .related(let condition, let target, _) = plan.access else { return [plan] }
            return self.plans(target, .references).map { inner in
                var plan = plan
                plan.access = .related(condition, target, inner)
                return plan
            }
        }
    }

    /// Fetches by every plan, and describes each result that differs from the expected one.
    func differences(
        in view: StoreView, past: HistoricalGraph? = nil,
        check: (() -> Void)? = nil,
        visit: (FetchResultKind, FetchPlan, FetchResult) -> Void = { _, _, _ in }
    ) throws -> [String] {
        var differences: [String] = []
        for part in [FetchResultKind.rows, .references, .count] {
            for plan in Self.plans(compiled, part, isPast: past != nil) {
                let found = try view.fetch(
                    compiled, by: plan, for: part, past: past,
                    budget: view.readBudget { _ in check?() })
                visit(part, plan, found)
                if let what = difference(found, part, isPast: past != nil) {
                    differences.append("\(what): \(request) for \(part) by \(found.plan)")
                }
            }
        }
        return differences
    }

    /// Describes how a result differs from the expected one; returns nil if it does not.
    private func difference(_ found: FetchResult, _ part: FetchResultKind, isPast: Bool) -> String?
    {
        let most = part == .count ? .max : compiled.wanted ?? .max
        guard found.count == min(matches.count, most) else {
            return "a count of \(found.count) instead of \(min(matches.count, most))"
        }
        let wanted = request.slice(of: matches)
        let objects = wanted.map(\.object)
        switch part {
        case .references where found.references != objects:
            return "\(found.references) instead of \(objects)"
        case .rows where found.objects.map(\.object) != objects:
            return "\(found.objects.map(\.object)) instead of \(objects)"
        case .rows where found.objects.map(\.row) != wanted.map(\.row): return "other rows"
        // The version of an undone row is not known.
        case .rows where !isPast && Array(found.objects) != wanted: return "other versions"
        default: return nil
        }
    }
}

/// A list at one position, object by object, found by evaluating every row there.
struct ExpectedList: Sendable {
    var request: FetchDescriptor
    var details: ListDetails
    let compiled: CompiledRequest
    let part: FetchResultKind
    let placed: [Placed]

    /// The object at one index of a list, with its sort key, section and links.
    struct Placed: Hashable, Sendable {
        var object: ObjectReference
        var key: [UInt8]
        var section: String
        var links: [ObjectReference?]
    }

    init(_ request: FetchDescriptor, _ details: ListDetails, in shelf: RandomShelf) throws {
        (self.request, self.details) = (request, details)
        let compiled = try CompiledRequest(
            request, sectionKeyPath: details.sectionKeyPath, in: try shelf.bench.model)
        let reader = StoreReader(shelf.bench.store)
        self.compiled = compiled
        part = .list(try ListHops(details, of: compiled))
        placed = try request.slice(of: try shelf.matches(compiled)).map { stored in
            Placed(
                object: stored.object,
                key: try #require(compiled.sortKey(stored.object, stored.row, reader)),
                section: compiled.sectionName(stored.object, stored.row, reader),
                links: try details.hops.map { try shelf.end(of: $0, from: stored.object) })
        }
    }

    /// Fetches the list by every plan, and describes each result that differs from the expectation.
    func differences(
        in view: StoreView, past: HistoricalGraph? = nil, check: (() -> Void)? = nil,
        visit: (FetchPlan, FetchResult) -> Void = { _, _ in }
    ) throws -> [String] {
        var differences: [String] = []
        for plan in FetchPlan.plans(for: compiled, part, isPast: past != nil) {
            if case .related = plan.access { continue }
            let found = try view.fetch(
                compiled, by: plan, for: part, past: past,
                budget: view.readBudget { _ in check?() })
            visit(plan, found)
            if let what = difference(found) {
                differences.append("\(what): \(request) \(details) by \(found.plan)")
            }
        }
        return differences
    }

    private func difference(_ found: FetchResult) -> String? {
        // A short list is answered with its rows.
        guard placed.count > Int(details.rowsUpTo) else {
            let isEqual =
                found.objects.map(\.object) == placed.map(\.object) && found.places == nil
            return isEqual ? nil : "\(found.objects.map(\.object)) instead of \(placed)"
        }
        guard let places = found.places else { return "no places" }
        let given = Self.placed(places)
        return given == placed ? nil : "\(given) instead of \(placed)"
    }

    static func placed(_ places: ListPlacements) -> [Placed] {
        (0..<places.count).map { at in
            Placed(
                object: places.object(at), key: Array(places.key(at)),
                section: places.sections[Int(places.sectionIndex(at))],
                links: places.links(at).map { $0 == 0 ? nil : places.reached[Int($0) - 1] })
        }
    }
}

extension RandomShelf {
    private static let sorts = [
        [], ["size"], ["-size"], ["kind", "-size"], ["folder.kind"], ["folder.kind", "size"],
        ["folder.kind", "-size"], ["-folder.kind", "-kind", "size"],
        ["folder.kind", "folder.depth", "-size"], ["folder.depth", "size", "folder.kind"],
        ["folder.kind", "name"], ["folder.kind", "-kind", "rate", "name"],
    ]
    private static let hops = [
        [], [["folder"]], [["folder"]], [["folder"], ["folder", "parent"]],
    ]

    /// Returns a random list of the shelf's current content; of all objects if `isWhole` is set.
    mutating func list(isWhole: Bool = false) throws -> ExpectedList {
        var request = FetchDescriptor(
            entity: Int.random(in: 0..<5, using: &random) > 0 ? "File" : "Image")
        let sort = Self.sorts.randomElement(using: &random) ?? []
        request.sort = sort.compactMap { SortComponent($0) }
        let predicates = [nil, nil, nil, "size > 3", "kind == 'a'", "folder.kind == 'a'"]
        if let format = predicates.randomElement(using: &random) ?? nil, !isWhole {
            request.predicate = try ObjectPredicate(format: format)
        }
        // Without subentities, an index that contains them can't give the order.
        request.includesSubentities = Int.random(in: 0..<5, using: &random) > 0
        if !isWhole, Int.random(in: 0..<4, using: &random) == 0 {
            request.limit = Int.random(in: 0...12, using: &random)
        }
        let leads = sort.first?.contains("folder.kind") == true
        let details = ListDetails(
            sectionKeyPath: [nil, leads ? "folder.kind" : "kind", "folder.kind"]
                .randomElement(using: &random) ?? nil,
            hops: Self.hops.randomElement(using: &random) ?? [],
            rowsUpTo: .random(in: 0...1, using: &random) == 0
                ? 0 : .random(in: 0...30, using: &random))
        return try ExpectedList(request, details, in: self)
    }

    /// Returns the object at the end of a path over to-one relationships.
    fileprivate func end(
        of path: [String], from start: ObjectReference
    ) throws -> ObjectReference? {
        var object: ObjectReference? = start
        for name in path {
            guard let next = object else { return nil }
            let entity = try #require(try bench.model.entity(tagged: next.tag))
            let row = try #require(try bench.store.stored(next)).row
            object = row.reference(try #require(entity.slot(of: name)), in: entity)
        }
        return object
    }

    /// Returns the graph at an earlier position, by undoing the transactions applied since.
    func past(at position: UInt64, upTo last: UInt64 = .max) throws -> HistoricalGraph {
        let (past, model) = (HistoricalGraph(at: position), try bench.model)
        for encoded in bench.log where encoded.position > position && encoded.position <= last {
            for change in try encoded.decoded().changes {
                past.undo(change, try #require(model.entity(tagged: change.object.tag)))
            }
        }
        return past
    }
}

/// Applies random transactions to a shelf, even while a snapshot of it is read on the same thread.
final class ShelfWriter {
    private(set) var shelf: RandomShelf
    private(set) var error: (any Error)?

    init(_ shelf: RandomShelf) { self.shelf = shelf }

    /// Applies a random transaction, and sometimes commits what was applied.
    func step() {
        do {
            try shelf.step()
            if Int.random(in: 0..<3, using: &shelf.random) == 0 {
                try shelf.bench.store.checkpoint()
            }
        } catch {
            self.error = self.error ?? error
        }
    }

    /// Commits, and returns a snapshot with the expected results of some fetches and lists.
    func snapshot(
        fetches: Int, lists: Int
    ) throws -> (StoreSnapshot, [ExpectedFetch], [ExpectedList]) {
        if let error { throw error }
        let some = try (0..<fetches).map { _ in try ExpectedFetch(&shelf) }
        let others = try (0..<lists).map { _ in try shelf.list() }
        try shelf.bench.store.checkpoint()
        return (try shelf.bench.store.snapshot(), some, others)
    }
}

// MARK: Descriptions

extension FetchResult {
    /// A short description of the fetch's plan, such as `index (kind, size)`.
    var plan: String { steps[...].planText }
}

extension FetchPlan {
    /// Returns a short description of the plan, such as `index (kind, size)`.
    func text(of request: CompiledRequest, for kind: FetchResultKind) -> String {
        steps(of: request, for: kind)[...].planText
    }
}

extension ArraySlice<FetchPlanStep> {
    /// A short description of the first step and its parts, which follow it.
    fileprivate var planText: String {
        guard let step = first else { return "" }
        let properties = step.properties.joined(separator: ", ")
        let below: Self = dropFirst().prefix { $0.depth > step.depth }
        let parts = below.indices.filter { below[$0].depth == step.depth + 1 }
            .map { below[$0...].planText }.joined(separator: ", ")
        switch step.access {
        case .scan: return "scan"
        case .inverse: return "inverse of \(properties)"
        case .unique: return "unique (\(properties))"
        case .index: return "index (\(properties))"
        case .union: return "any of \(parts)"
        case .related: return "related by \(properties): \(below.first?.entity ?? "") by \(parts)"
        }
    }
}

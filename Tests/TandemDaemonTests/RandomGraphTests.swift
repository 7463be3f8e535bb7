import TandemModel
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

@Suite(.ownThread) struct RandomGraphTests {
    @Test func `law 6: random saves give the graph of a naive model, and so does their replay`()
        throws
    {
        for round in UInt64(0)..<4 {
            var random = try RandomGraph(seed: seed &+ round)
            for _ in 0..<60 { try random.step() }
            let expected = try dump(random.bench.store)
            try random.bench.crash()
            #expect(try dump(random.bench.store) == expected, "seed \(seed) round \(round)")
            try random.compare()
        }
    }
}

/// A committer that receives random saves, the expected state in sets, and a mirror to which the
/// written transactions are applied and from which they are undone.
struct RandomGraph {
    let bench: CommitBench
    private var random: SplitMix64
    private var next: UInt64 = 1
    private var naive = NaiveGraph()
    private var mirror = MirrorGraph()
    private let what: String

    init(
        seed: UInt64, model: ManagedObjectModel = graphModel, limits: DaemonLimits = DaemonLimits()
    ) throws {
        bench = try CommitBench(model: model, limits: limits)
        random = SplitMix64(seed: seed)
        what = "seed \(seed)"
    }

    mutating func step() throws {
        var planned = naive
        var operations: [SaveOperation] = []
        var deletions: [SaveOperation] = []
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            switch Int.random(in: 0..<8, using: &random) {
            case 0..<3: operations.append(try insert(&planned))
            case 3..<7: if let operation = try update(&planned) { operations.append(operation) }
            default:
                guard let victim = planned.objects.keys.sorted().randomElement(using: &random)
                else { continue }
                deletions.append(.delete(object: planned.reference(victim), baseVersion: 0))
            }
        }
        let model = try bench.model
        var denied: [UInt64] = []
        for deletion in deletions { planned.delete(deletion.object.number, model, &denied) }
        let isDenied = denied.contains { planned.objects[$0] != nil }
        let before = bench.committer.position
        // Deletions are inserted at random places among the other operations.
        for deletion in deletions {
            operations.insert(
                deletion, at: Int.random(in: 0...operations.count, using: &random))
        }
        let error = try bench.refusal(operations)
        #expect((error?.code == .deleteDenied) == isDenied, "\(what): \(error?.message ?? "")")
        if error == nil { naive = planned } else { #expect(isDenied, "\(what) \(error)") }
        try fold(from: before)
        try compare()
    }

    /// Applies the written transactions to the mirror, and checks that undoing them restores the
    /// earlier state.
    private mutating func fold(from position: UInt64) throws {
        for transaction in try bench.transactions(from: position + 1) {
            let old = mirror
            let model = try bench.model
            for change in transaction.changes { try mirror.apply(change, model) }
            var undone = mirror
            for change in transaction.changes { try undone.undo(change, model) }
            #expect(undone == old, "\(what): undoing \(transaction.position)")
        }
    }

    // MARK: Operations

    private mutating func insert(_ graph: inout NaiveGraph) throws -> SaveOperation {
        let name = ["Node", "Node", "Leaf", "Badge", "Group", "Tag"].randomElement(using: &random)
        let entity = try bench.entity(name ?? "Node")
        let number = next
        next += 1
        graph.objects[number] = NaiveGraph.Object(
            tag: entity.tag, values: entity.defaults, isFresh: true)
        let (values, links) = try edits(number, entity, &graph)
        graph.objects[number]?.isFresh = false
        return .insert(
            object: graph.reference(number),
            values: values.map { SlotValue(slot: $0.slot, value: $0.value) },
            links: links.filter(\.isAdded))
    }

    private mutating func update(_ graph: inout NaiveGraph) throws -> SaveOperation? {
        guard let number = graph.objects.keys.sorted().randomElement(using: &random),
            let tag = graph.objects[number]?.tag, let entity = try bench.model.entity(tagged: tag)
        else { return nil }
        let (values, links) = try edits(number, entity, &graph)
        return .update(
            object: graph.reference(number), baseVersion: 0, values: values, links: links)
    }

    /// Returns at most one edit per operation, so that the order of edits does not matter.
    private mutating func edits(
        _ number: UInt64, _ entity: CompiledEntity, _ graph: inout NaiveGraph
    ) throws -> ([SaveValue], [LinkChange]) {
        guard let property = entity.properties.randomElement(using: &random) else {
            return ([], [])
        }
        let slot = property.slot
        guard let relationship = property.relationship else {
            if property.name == "code" || property.derivation != nil { return ([], []) }
            let value: PropertyValue =
                property.attribute?.type == .int
                ? .int(Int64.random(in: 1...3, using: &random))
                : [.null, .string("a"), .string("B"), .string("É"), .string("Straße")]
                    .randomElement(using: &random) ?? .null
            graph.objects[number]?.values[slot] = value
            return ([SaveValue(slot: slot, value: value)], [])
        }
        let model = try bench.model
        let family = model.entity(tagged: relationship.destination)?.descendants ?? []
        let candidates = graph.objects.filter { family.contains($0.value.tag) }.keys.sorted()
        let target = candidates.randomElement(using: &random)
        if relationship.toMany {
            guard let target else { return ([], []) }
            let isAdded = graph.objects[number]?.isFresh ?? true || Bool.random(using: &random)
            if isAdded {
                graph.link(number, slot, target, relationship)
            } else {
                graph.unlink(number, slot, target, relationship)
            }
            let reference = graph.reference(target)
            return ([], [LinkChange(slot: slot, target: reference, isAdded: isAdded)])
        }
        graph.unlinkAll(number, slot, relationship)
        guard let target, Int.random(in: 0..<4, using: &random) > 0 else {
            return ([SaveValue(slot: slot, value: .null)], [])
        }
        graph.link(number, slot, target, relationship)
        return ([SaveValue(slot: slot, value: .reference(graph.reference(target)))], [])
    }

    // MARK: Comparison

    /// Compares store, naive graph and mirror: every value, and every link at both ends.
    func compare() throws {
        let model = try bench.model
        var count = 0
        for entity in model.entities { count += try bench.store.count(of: entity.tag) }
        #expect(count == naive.objects.count, "\(what)")
        #expect(mirror.rows.count == naive.objects.count, "\(what)")
        for (number, object) in naive.objects.sorted(by: { $0.key < $1.key }) {
            let reference = naive.reference(number)
            guard let entity = model.entity(tagged: object.tag),
                let stored = try bench.store.stored(reference)
            else {
                Issue.record("\(what): \(reference) is missing")
                continue
            }
            #expect(mirror.rows[reference] == stored.row, "\(what): \(reference)")
            for property in entity.properties {
                let slot = property.slot
                let name = "\(what): \(model.id(of: reference)).\(property.name)"
                let expected = (object.links[slot] ?? []).sorted()
                if property.isToMany, let relationship = property.relationship {
                    let members = try bench.store.members(of: number, relationship)
                    #expect(members.map(\.number) == expected, "\(name)")
                    let key = MirrorGraph.Key(owner: reference, slot: slot)
                    #expect((mirror.links[key] ?? []).sorted() == members, "\(name)")
                } else if property.relationship != nil {
                    let found = stored.row.reference(slot, in: entity).map { [$0.number] } ?? []
                    #expect(found == expected, "\(name)")
                } else {
                    let expected = object.value(of: property, in: entity)
                    #expect(stored.row.uncheckedValue(slot, in: entity) == expected, "\(name)")
                }
            }
        }
    }
}

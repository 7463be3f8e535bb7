import Tandem
import TandemModel
import TandemQuery
import TestSupport
import TestWorlds
import Testing

/// Three contexts, each a child of the previous one, edited at random and compared with a plain
/// model of their layers.
@MainActor @Suite struct ChildRandomTests {
    @Test func `law 4: nested contexts show what a plain model of their layers shows`() throws {
        let fixture = try Fixture([Bucket.self, Content.self, Item.self, Tag.self])
        for run in 0..<Seed.worlds(3, deep: 20) {
            let family = try Family(fixture, seed: Seed.value(run))
            for step in 0..<60 {
                var differences: [String] = []
                do {
                    try family.step()
                    differences = try family.differences()
                } catch {
                    differences = ["\(error)"]
                }
                try #require(
                    differences.isEmpty,
                    """
                    TANDEM_SEED=\(Seed.value(run)) step \(step): \(differences.prefix(3)) after \
                    \(family.log.suffix(12).joined(separator: "; "))
                    """)
            }
        }
    }
}

/// The contexts, and the model of their state.
@MainActor private final class Family {
    private let contexts: [ManagedObjectContext]
    private let other: ManagedObjectContext
    private var model = NestedGraph(levels: 3)
    private var random: SplitMix
    private(set) var log: [String] = []
    /// The objects that earlier runs left in the store.
    private let strangers: Set<ObjectID>

    init(_ fixture: Fixture, seed: UInt64) throws {
        random = SplitMix(seed)
        let root = fixture.container("family").makeContext(name: "root")
        let child = root.makeChild(name: "child")
        contexts = [root, child, child.makeChild(name: "grandchild")]
        other = fixture.container("other").makeContext(name: "other")
        var strangers: Set<ObjectID> = []
        for entity in ["Bucket", "Content", "Item", "Tag"] {
            strangers.formUnion(try root.fetch(FetchRequest(entity: entity)).map(\.id))
        }
        self.strangers = strangers
        for context in contexts { context.mergePolicy = .objectTrump }
        for _ in 0..<12 { try insert(0) }
        try save(0)
    }

    // MARK: Steps

    func step() throws {
        let level = random.next(3)
        let context = contexts[level]
        context.allowsUndo = false
        context.allowsUndo = true
        let before = model.levels[level]
        switch random.next(20) {
        case 0..<3: try insert(level)
        case 3..<8: try change(level)
        case 8..<12: try move(level)
        case 12..<15: try link(level)
        case 15: try delete(level)
        case 16: try othersChange()
        case 17: rollBack(level)
        default:
            try save(level)
            return
        }
        if random.next(3) == 0 { try backAndForth(level, before) }
    }

    /// Undoes the last step, compares, and redoes it.
    private func backAndForth(_ level: Int, _ before: PlainEdits) throws {
        guard contexts[level].canUndo else { return }
        log.append("\(level) undoes and does again")
        let after = model.levels[level]
        model.levels[level] = before
        while contexts[level].canUndo { contexts[level].undo() }
        let differences = try differences()
        #expect(differences.isEmpty, "undone: \(differences.prefix(3))")
        model.levels[level] = after
        while contexts[level].canRedo { contexts[level].redo() }
    }

    private func insert(_ level: Int) throws {
        let entity = ["Bucket", "Content", "Content", "Item", "Tag"][random.next(5)]
        let object = try contexts[level].insert(entity)
        log.append("\(level) inserts \(object.id)")
        let below = model.graph(level - 1)
        model.levels[level].inserted.insert(object.id)
        let defaults: [String: PlainGraph.Plain] =
            switch entity {
            case "Content": ["name": .text(""), "size": .number(0), "bucket": .object(nil)]
            case "Bucket": ["name": .text("")]
            default: [:]
            }
        for (name, value) in defaults {
            model.levels[level].set(value, .init(object: object.id, name: name), below: below)
        }
    }

    private func change(_ level: Int) throws {
        let graph = model.graph(level)
        guard let id = pick(graph.alive("Content") + graph.alive("Bucket")) else { return }
        let object = try contexts[level].existingObject(with: id)
        let value: PlainGraph.Plain
        if id.entity == "Content", random.next(2) == 0 {
            let size = random.next(5)
            object["size"] = .int(Int64(size))
            value = .number(size)
        } else {
            let name = ["", "a", "b", "c"][random.next(4)]
            object["name"] = .string(name)
            value = .text(name)
        }
        let name = if case .number = value { "size" } else { "name" }
        log.append("\(level) sets \(id).\(name) to \(value)")
        model.levels[level].set(
            value, .init(object: id, name: name), below: model.graph(level - 1))
    }

    private func move(_ level: Int) throws {
        let graph = model.graph(level)
        guard let id = pick(graph.alive("Content")) else { return }
        let target = random.next(4) == 0 ? nil : pick(graph.alive("Bucket"))
        let context = contexts[level]
        let object = try context.existingObject(with: id)
        if let target, random.next(2) == 0 {
            try context.existingObject(with: target).add(object, to: "contents")
            // A member that is added again stays unchanged.
        } else {
            object.setObject(
                try target.map { try context.existingObject(with: $0) }, for: "bucket")
        }
        log.append("\(level) moves \(id) to \(target.map { "\($0)" } ?? "nowhere")")
        model.levels[level].set(
            .object(target), .init(object: id, name: "bucket"), below: model.graph(level - 1))
    }

    private func link(_ level: Int) throws {
        let graph = model.graph(level)
        guard let item = pick(graph.alive("Item")), let tag = pick(graph.alive("Tag")) else {
            return
        }
        let context = contexts[level]
        let objects = (
            try context.existingObject(with: item), try context.existingObject(with: tag)
        )
        let isAdded = random.next(3) > 0
        switch (isAdded, random.next(2)) {
        case (true, 0): objects.0.add(objects.1, to: "tags")
        case (true, _): objects.1.add(objects.0, to: "items")
        case (false, 0): objects.0.remove(objects.1, from: "tags")
        case (false, _): objects.1.remove(objects.0, from: "items")
        }
        log.append("\(level) \(isAdded ? "links" : "unlinks") \(item) and \(tag)")
        model.levels[level].set(
            .init(item: item, tag: tag), isAdded, below: model.graph(level - 1))
    }

    private func delete(_ level: Int) throws {
        let graph = model.graph(level)
        // Links to a bucket that exist only in memory are covered by another test.
        guard let id = pick(graph.alive.subtracting(wanted).sorted { $0.number < $1.number })
        else { return }
        log.append("\(level) deletes \(id)")
        contexts[level].delete(try contexts[level].existingObject(with: id))
        model.levels[level].delete(id, below: model.graph(level - 1))
    }

    private func rollBack(_ level: Int) {
        // Links to objects whose insert is rolled back are covered by another test, as with
        // deletions.
        guard wanted.isDisjoint(with: model.levels[level].inserted) else { return }
        log.append("\(level) rolls back")
        contexts[level].rollback()
        model.levels[level] = PlainEdits()
    }

    /// The objects that some context's edits refer to.
    private var wanted: Set<ObjectID> {
        Set(
            model.levels.flatMap(\.values.values).compactMap { value in
                if case .object(let id) = value { id } else { nil }
            })
    }

    private func othersChange() throws {
        guard let id = pick(model.store.alive("Content")) else { return }
        let size = random.next(5)
        log.append("others set \(id).size to \(size)")
        try other.existingObject(with: id)["size"] = .int(Int64(size))
        try contexts[random.next(3)].reach(try other.save(policy: .objectTrump))
        model.store.values[.init(object: id, name: "size")] = .number(size)
    }

    private func save(_ level: Int) throws {
        log.append("\(level) saves")
        let position = try contexts[level].save()
        model.save(level)
        // The other context edits the rows that it sees; on a stale row, an assignment might change
        // nothing.
        if level == 0 { try other.reach(position) }
    }

    private func pick(_ ids: [ObjectID]) -> ObjectID? {
        ids.isEmpty ? nil : ids[random.next(ids.count)]
    }

    // MARK: Comparison

    /// Returns descriptions of the differences between contexts and model.
    func differences() throws -> [String] {
        try contexts.indices.flatMap { level in
            let graph = model.graph(level)
            var found = try lists(level, graph)
            for id in graph.alive {
                let object = try contexts[level].existingObject(with: id)
                for problem in problems(object, graph) { found.append("\(level) \(problem)") }
            }
            if contexts[level].hasChanges, model.levels[level].isEmpty {
                found.append("\(level) has changes: \(contexts[level].updatedObjects.map(\.id))")
            }
            return found
        }
    }

    private func lists(_ level: Int, _ graph: PlainGraph) throws -> [String] {
        var found: [String] = []
        for entity in ["Bucket", "Item", "Tag"] {
            let ids = Set(try contexts[level].fetch(FetchRequest(entity: entity)).map(\.id))
            let count = try contexts[level].count(for: FetchRequest(entity: entity))
            if count != ids.count { found.append("\(level) \(entity): \(count) counted") }
            if ids.subtracting(strangers) != Set(graph.alive(entity)) {
                found.append("\(level) \(entity): \(ids.subtracting(strangers))")
            }
        }
        let small = FetchRequest(
            entity: "Content", predicate: try ObjectPredicate(format: "size < 4"),
            sort: [SortKey("name")].compactMap { $0 })
        let all = try contexts[level].fetch(small).map(\.id)
        let count = try contexts[level].count(for: small)
        if count != all.count { found.append("\(level): \(count) counted, not \(all.count)") }
        let ids = all.filter { !strangers.contains($0) }
        let expected = graph.alive("Content").filter { graph.size($0) < 4 }.sorted {
            (graph.name($0), $0.number) < (graph.name($1), $1.number)
        }
        if ids != expected { found.append("\(level) \(ids) instead of \(expected)") }
        return found
    }

    private func problems(_ object: ManagedObject, _ graph: PlainGraph) -> [String] {
        let id = object.id
        func ids(_ name: String) -> Set<ObjectID> { Set(object.objects(name).map(\.id)) }
        var found: [String] = []
        func check(_ name: String, _ isRight: Bool) {
            if !isRight { found.append("\(id).\(name)") }
        }
        switch id.entity {
        case "Bucket":
            check("name", object["name"] == .string(graph.name(id)))
            check("contents", ids("contents") == graph.contents(id))
        case "Content":
            check("name", object["name"] == .string(graph.name(id)))
            check("size", object["size"] == .int(Int64(graph.size(id))))
            check("bucket", object.object("bucket")?.id == graph.bucket(id))
        case "Item": check("tags", ids("tags") == graph.tags(id))
        default: check("items", ids("items") == graph.items(id))
        }
        return found
    }
}

extension PlainEdits {
    fileprivate var isEmpty: Bool {
        inserted.isEmpty && deleted.isEmpty && values.isEmpty && links.isEmpty
    }
}

import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon
@testable import TandemStore

/// The graph model with derived attributes over every kind of relationship, some of them inherited
/// or indexed.
let derivedModel: ManagedObjectModel = {
    var model = graphModel
    model.derive("Node", "childCount", .int, .count("children"))
    model.derive("Node", "friendCount", .int, .count("friends"))
    model.derive("Node", "tagCount", .int, .count("tags"))
    model.derive("Node", "canonicalName", .string, .folded("name"))
    model.derive("Leaf", "colourFolded", .string, .folded("colour"))
    model.derive("Leaf", "alsoNamed", .string, .folded("name"))
    model.derive("Group", "nodeCount", .int, .count("nodes"))
    model.derive("Tag", "nodeCount", .int, .count("nodes"))
    model.entities["Node"]?.indexes += [["childCount"], ["canonicalName", "tagCount"]]
    model.entities["Group"]?.indexes += [["nodeCount"]]
    return model
}()

extension ManagedObjectModel {
    mutating func derive(
        _ entity: String, _ name: String, _ type: AttributeType, _ derivation: Derivation
    ) {
        entities[entity]?.attributes[name] = Attribute(name, type, derived: derivation)
    }
}

extension CommitBench {
    /// Returns the derived values that differ from a plain recount of links and values.
    func wrongDerived() throws -> [String] {
        var wrong: [String] = []
        let model = try model
        for entity in model.entities {
            for stored in try store.rowStep(of: entity.tag, from: 0) {
                for property in entity.properties {
                    guard let derivation = property.derivation,
                        let source = entity.property(named: derivation.source)
                    else { continue }
                    let expected: PropertyValue
                    if let relationship = source.relationship {
                        let number = stored.object.number
                        expected = .int(Int64(try store.members(of: number, relationship).count))
                    } else if case .string(let text) = stored.row.uncheckedValue(
                        source.slot, in: entity)
                    {
                        expected = .string(
                            String(decoding: TextFolding.folded(text), as: UTF8.self))
                    } else {
                        expected = .null
                    }
                    let found = stored.row.uncheckedValue(property.slot, in: entity)
                    if found != expected {
                        wrong.append("\(model.id(of: stored.object)).\(property.name) \(found)")
                    }
                }
            }
        }
        return wrong
    }
}

/// Derived attributes compared with a recount, after every kind of save, and in rebuilt and
/// migrated stores.
@Suite(.ownThread) struct DerivedTests {
    @Test
    func
        `law 6: derived attributes equal a recount, after random saves and from the journal alone`()
        throws
    {
        for round in UInt64(0)..<4 {
            var random = try RandomGraph(seed: seed &+ round, model: derivedModel)
            for _ in 0..<60 { try random.step() }
            let bench = random.bench
            #expect(try bench.wrongDerived() == [], "seed \(seed) round \(round)")
            #expect(try bench.store.check().isClean, "seed \(seed) round \(round)")
            let expected = try dump(bench.store)
            try bench.rebuild()
            #expect(try dump(bench.store) == expected, "seed \(seed) round \(round)")
            try random.compare()
        }
    }

    @Test
    func `law 6: a migration computes derived attributes, follows renames and drops removed ones`()
        throws
    {
        for round in UInt64(0)..<3 {
            var random = try RandomGraph(seed: seed &+ round)
            for _ in 0..<40 { try random.step() }
            let bench = random.bench
            func install(_ model: ManagedObjectModel) throws {
                let compiled = try CompiledModel(model, replacing: try bench.model)
                try bench.committer.install(compiled, by: Principal())
                #expect(try bench.wrongDerived() == [], "seed \(seed) round \(round)")
                #expect(try bench.store.check().isClean, "seed \(seed) round \(round)")
            }
            try install(derivedModel)
            var other = derivedModel
            other.derive("Node", "childCount", .int, .count("friends"))
            other.derive("Node", "code", .string, .folded("name"))
            other.entities["Node"]?.uniqueness = []
            other.entities["Node"]?.attributes["friendCount"]?.derived = nil
            try install(other)
            var renamed = other
            let name = renamed.entities["Node"]?.attributes.removeValue(forKey: "name")
            renamed.entities["Node"]?.attributes["title"] = Attribute(
                "title", .string, renamedFrom: name?.name)
            renamed.derive("Node", "code", .string, .folded("title"))
            renamed.derive("Node", "canonicalName", .string, .folded("title"))
            renamed.derive("Leaf", "alsoNamed", .string, .folded("title"))
            renamed.entities["Leaf"] = nil
            try install(renamed)
            let expected = try dump(bench.store)
            try bench.rebuild()
            #expect(try dump(bench.store) == expected, "seed \(seed) round \(round)")
        }
    }

    @Test func `law 6: a count of other links under the same name is recomputed`() throws {
        func model(on owner: String, inverse: String) -> ManagedObjectModel {
            var model = ManagedObjectModel {
                Entity("Base") {}
                Entity("Team", parent: "Base") {}
                Entity("Player") { Relationship(inverse, to: owner, inverse: "players") }
            }
            model.entities[owner]?.relationships["players"] = Relationship(
                "players", to: "Player", inverse: inverse, toMany: true)
            model.derive("Team", "n", .int, .count("players"))
            return model
        }
        let bench = try CommitBench(model: model(on: "Team", inverse: "team"))
        try bench.save([try bench.insert("Team", 1)])
        let team = PropertyValue.reference(try bench.reference("Team", 1))
        try bench.save(try (2...3).map { try bench.insert("Player", $0, ["team": team]) })
        #expect(try bench.value("Team", 1, "n") == .int(2))
        let next = try CompiledModel(
            model(on: "Base", inverse: "base"), replacing: try bench.model)
        try bench.committer.install(next, by: Principal())
        #expect(try bench.value("Team", 1, "n") == .int(0))
        #expect(try bench.wrongDerived() == [])
        try bench.rebuild()
        #expect(try bench.wrongDerived() == [])
    }

    @Test func `setting a derived attribute is refused, with the object and the property`() throws {
        let bench = try CommitBench(model: derivedModel)
        try bench.save([try bench.insert("Group", 1)])
        let operations = [
            try bench.insert("Group", 2, ["nodeCount": .int(0)]),
            try bench.update("Group", 1, ["nodeCount": .null]),
        ]
        for operation in operations {
            let error = try #require(try bench.refusal([operation]))
            #expect(error.code == .validation)
            #expect(error.problems.map(\.property) == ["nodeCount"])
            #expect(error.message.contains("derived (nodes.@count)"))
        }
        #expect(
            try bench.refusal([try bench.insert("Node", 3, ["canonicalName": .string("x")])])?
                .problems.first?.object == ObjectID(entity: "Node", number: 3))
        #expect(bench.committer.position == 2)
    }

    @Test func `a changed count does not conflict with an edit of the object`() throws {
        let bench = try CommitBench(model: derivedModel)
        let group = try bench.reference("Group", 1)
        try bench.save([try bench.insert("Group", 1, ["title": .string("t")])])
        try bench.save([try bench.insert("Node", 2, ["group": .reference(group)])])
        #expect(try bench.value("Group", 1, "nodeCount") == .int(1))
        #expect(try bench.version("Group", 1) == 2)
        let change = try #require(
            try bench.transactions(from: 3).first?.changes.first { $0.object == group })
        #expect(change.kind == .update && change.before.map(\.value) == [.int(0)])
        #expect(change.links.count == 1)
        try bench.save([try bench.update("Group", 1, ["title": .string("u")], version: 2)])
        let late = try bench.update("Group", 1, ["title": .string("v")], version: 2)
        #expect(try bench.refusal([late])?.code == .conflict)
        #expect(try bench.refusal([try bench.delete("Node", 2, version: 3)]) == nil)
        #expect(try bench.value("Group", 1, "nodeCount") == .int(0))
        #expect(try bench.version("Group", 1) == 4)
        #expect(try bench.wrongDerived() == [])
    }

    @Test func `counts follow an existing object that replaces a new one`() throws {
        let bench = try CommitBench(model: derivedModel)
        let group = try bench.reference("Group", 1)
        try bench.save([
            try bench.insert("Group", 1), try bench.insert("Node", 2, ["code": .string("c")]),
        ])
        let new: [String: PropertyValue] = [
            "code": .string("c"), "name": .string("Ärger"), "group": .reference(group),
        ]
        try bench.save([try bench.insert("Node", 3, new)], policy: .storeTrump)
        #expect(try bench.value("Group", 1, "nodeCount") == .int(0))
        try bench.save([try bench.insert("Node", 4, new)], policy: .objectTrump)
        #expect(try bench.value("Group", 1, "nodeCount") == .int(1))
        #expect(try bench.value("Node", 2, "canonicalName") == .string("arger"))
        #expect(try bench.wrongDerived() == [])
    }

    @Test func `a long text is folded outside the row, and one that grows too long is refused`()
        throws
    {
        let bench = try CommitBench(model: derivedModel, segmentBytes: 4 << 20)
        let text = String(repeating: "É", count: 70_000)
        try bench.save([try bench.insert("Node", 1, ["name": .string(text)])])
        let folded = String(repeating: "e", count: 70_000)
        #expect(try bench.value("Node", 1, "canonicalName") == PropertyValue.string(folded).inRow)
        let held = try #require(try bench.value("Node", 1, "canonicalName").outside)
        #expect(try bench.store.content(of: held) == Array(folded.utf8))
        #expect(try bench.store.check().isClean)
        try bench.save([try bench.update("Node", 1, ["name": .string("É")])])
        #expect(try bench.value("Node", 1, "canonicalName") == .string("e"))
        #expect(try bench.store.check().isClean)
        var limits = DaemonLimits()
        limits.blobBytes = 100_000
        let small = try CommitBench(model: derivedModel, limits: limits)
        // Folding turns a syllable of three bytes into three letters of three bytes each.
        let grows = String(repeating: "각", count: 30_000)
        let error = try small.refusal([try small.insert("Node", 1, ["name": .string(grows)])])
        #expect(error?.code == .validation)
        #expect(error?.problems.map(\.property) == ["canonicalName"])
    }

    @Test func `texts folded with other tables are recomputed by a transaction`() throws {
        let bench = try CommitBench(model: derivedModel, segmentBytes: 4 << 20)
        let long = String(repeating: "Ä", count: 60_000)
        try bench.save(
            try (1...1_500).map {
                try bench.insert("Leaf", $0, ["name": .string("É\($0)"), "rank": .int(2)])
            } + [
                try bench.insert("Leaf", 1_501, ["name": .string(long)]),
                try bench.insert("Leaf", 1_502),
            ])
        let good = try dump(bench.store)
        // The texts and the stamp that an older program would have left.
        let stored = try (UInt64(1)...1_502).map {
            try #require(try bench.store.stored(try bench.reference("Leaf", $0)))
        }
        let entity = try bench.entity("Leaf")
        let slot = try #require(entity.slot(of: "canonicalName"))
        let changes = stored.map { stored in
            Change(
                .update, stored.object, changed: PropertyMask([slot]),
                row: stored.row.replacing([(slot, .string("old"))], in: entity),
                before: [SlotValue(slot: slot, value: stored.row.uncheckedValue(slot, in: entity))])
        }
        var transaction = Transaction(content: .objects(changes))
        try bench.committer.append(&transaction)
        try bench.committer.flush()
        try bench.store.forgetFolding()
        try bench.committer.checkpoint()
        try bench.crash()
        #expect(try bench.wrongDerived() == [])
        #expect(try dump(bench.store).dropFirst() == good.dropFirst())
        #expect(try bench.version("Leaf", 3) == 2)
        let renewals = try bench.transactions(from: 4)
        #expect(Set(renewals.map(\.principal.author)) == ["tandemd"])
        #expect(renewals.map(\.changes.count).reduce(0, +) == 1_502)
        #expect(renewals.allSatisfy { $0.changes.count <= 1_000 })
        #expect(try bench.store.foldingMatchesThisBuild)
        try bench.crash()
        #expect(try bench.transactions(from: 4).count == renewals.count)
        #expect(try bench.store.check().isClean)
    }

    @Test func `batches update counts like saves`() throws {
        let bench = try CommitBench(model: derivedModel)
        let group = try bench.reference("Group", 1)
        try bench.save(
            try [bench.insert("Group", 1, ["title": .string("t")])]
                + (2...9).map { try bench.insert("Node", $0, ["group": .reference(group)]) })
        // A transaction of a batch is planned like a save, with the limits of a transaction.
        let part = SaveRequest(
            saveID: [1], contentHash: StableHash([1]), modelVersion: try bench.model.version,
            operations: try (2...5).map { try bench.delete("Node", $0) })
        let plan = try BatchPlanner(bench.committer).plan(part, atMost: 1_000)
        #expect(plan.changes.filter { $0.object == group }.map(\.kind) == [.update])
        _ = try bench.save(part)
        #expect(try bench.value("Group", 1, "nodeCount") == .int(4))
        #expect(try bench.version("Group", 1) == 2)
    }
}

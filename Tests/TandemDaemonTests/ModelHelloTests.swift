import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Apps whose models differ from the store's.
@Suite(.ownThread) struct ModelHelloTests {
    private func model(
        _ max: NumberLimit? = 10, default value: PropertyValue = .null, more: [Attribute] = [],
        pattern: String? = nil, uniqueness: [[String]] = []
    ) -> ManagedObjectModel {
        ManagedObjectModel {
            Entity("Thing", uniqueness: uniqueness) {
                Attribute("size", .int, default: value, max: max)
                Attribute("name", .string, pattern: pattern)
                for attribute in more { attribute }
                Relationship("parts", to: "Part", inverse: "thing", toMany: true)
            }
            Entity("Part") { Relationship("thing", to: "Thing", inverse: "parts") }
        }
    }

    /// Returns a store of the model with one object.
    private func filled(_ model: ManagedObjectModel) throws -> EngineBench {
        let bench = try EngineBench(model: model)
        let client = try bench.client()
        let lease = try #require(client.welcome?.lease)
        try client.save([try bench.bench.insert("Thing", lease.first, ["size": .int(7)])])
        return bench
    }

    private func greeted(_ bench: EngineBench, _ model: ManagedObjectModel) throws -> Peer {
        try bench.client(Hello(author: "app", model: model.json.text))
    }

    /// Returns the error with which an app is rejected; checks that nothing changed.
    private func refusal(_ bench: EngineBench, _ model: ManagedObjectModel) throws -> TandemError? {
        let before = (bench.position, try dump(bench.bench.store))
        let peer = try bench.peer()
        try peer.greet(Hello(author: "app", model: model.json.text))
        #expect(peer.isClosed && peer.welcome == nil)
        #expect(bench.position == before.0)
        #expect(try dump(bench.bench.store) == before.1)
        return peer.failure
    }

    @Test func `a relaxed rule is installed in one transaction, and both versions keep working`()
        throws
    {
        let bench = try filled(model(10))
        let before = bench.position.number
        let newer = try greeted(bench, model(20))
        #expect(bench.position.number == before + 1)
        #expect(try newer.model.model == model(20))
        // The older app uses the current rules, and changes nothing.
        for _ in 0..<2 {
            #expect(try greeted(bench, model(10)).model.model == model(20))
            #expect(try greeted(bench, model(20)).model.model == model(20))
        }
        #expect(bench.position.number == before + 1)
    }

    @Test func `a stricter or different rule is refused with the list and the remedy`() throws {
        let bench = try filled(model(10))
        for (other, place) in [
            (model(5), "Thing.size: max 10 → 5"),
            (model(10, default: .int(1)), "Thing.size: default none → 1"),
            (model(10, pattern: "a*"), "Thing.name: pattern none → a*"),
            (model(10, uniqueness: [["name"]]), "Thing: uniqueness none → [name]"),
            (
                model(10, more: [Attribute("must", .int, optional: false)]),
                "Thing.must: added, int, required"
            ),
        ] {
            let error = try refusal(bench, other)
            #expect(error?.code == .schemaMismatch)
            #expect(error?.message.contains(place) == true, "\(error?.message ?? "none")")
            #expect(error?.message.contains("`tandem schema migrate FILE`") == true)
        }
        var cascade = model(10)
        cascade.entities["Thing"]?.relationships["parts"]?.deleteRule = .cascade
        #expect(
            try refusal(bench, cascade)?.message.contains(
                "Thing.parts: deleteRule nullify → cascade") == true)
        // All differences are listed at once.
        let all = try refusal(bench, model(5, default: .int(1), pattern: "a*"))?.message ?? ""
        #expect(all.contains("max") && all.contains("default") && all.contains("pattern"))
    }

    @Test func `an invalid model is refused before it is compared`() throws {
        let bench = try filled(model())
        let broken = ManagedObjectModel {
            Entity("Thing") { Relationship("parts", to: "Part", inverse: "nowhere", toMany: true) }
        }
        let error = try refusal(bench, broken)
        #expect(error?.code == .usage && error?.message.contains("Thing.parts") == true)
        var ordered = model()
        ordered.entities["Thing"]?.relationships["parts"]?.ordered = true
        #expect(try refusal(bench, ordered) != nil)
    }

    @Test func `apps with different subsets of the model are not versions of each other`() throws {
        let bench = try filled(model(10))
        let sibling = ManagedObjectModel {
            Entity("Thing") { Attribute("size", .int, max: 10) }
            Entity("Other") { Attribute("x", .int) }
        }
        let position = bench.position.number
        var whole = model(10)
        whole.entities["Other"] = Entity("Other") { Attribute("x", .int) }
        #expect(try greeted(bench, sibling).model.model == whole)
        #expect(bench.position.number == position + 1)
        // An app with a subset of the model is accepted, and counts as an older version once the
        // rule is relaxed.
        let part = ManagedObjectModel { Entity("Thing") { Attribute("size", .int, max: 10) } }
        #expect(try greeted(bench, part).model.model == whole)
        #expect(bench.position.number == position + 1)
        whole.entities["Thing"]?.attributes["size"]?.maximum = 30
        _ = try greeted(bench, model(30))
        for older in [part, sibling, model(10)] {
            #expect(try greeted(bench, older).model.model == whole)
        }
        #expect(bench.position.number == position + 2)
    }

    @Test func `law 6: a rebuild restores the model versions in the journal`() throws {
        let bench = try filled(model(10))
        let sibling = ManagedObjectModel {
            Entity("Thing") { Attribute("size", .int, max: 10) }
            Entity("Other")
        }
        for next in [sibling, model(20), model(30)] { _ = try greeted(bench, next) }
        let before = (bench.position.number, try dump(bench.bench.store))
        for isRebuilt in [false, true] {
            if isRebuilt { try bench.rebuild() } else { try bench.crash() }
            #expect(try dump(bench.bench.store) == before.1)
            for older in [model(10), model(20), sibling] {
                _ = try greeted(bench, older)
                #expect(bench.position.number == before.0)
            }
        }
    }

    @Test func `only the most recent model hashes are kept`() throws {
        let bench = try filled(model(10))
        for most in 11...80 { _ = try greeted(bench, model(NumberLimit(Int64(most)))) }
        #expect(bench.bench.store.knownModels.count == 64)
        #expect(bench.bench.store.knownModels.last == model(80).hash)
        #expect(try refusal(bench, model(12))?.code == .schemaMismatch)
        #expect(try greeted(bench, model(40)).isClosed == false)
    }

    @Test func `an app with renamed properties is rejected, and a connected one is closed`()
        throws
    {
        let bench = try filled(model(10))
        let old = try greeted(bench, model(10))
        let bystander = try bench.client()
        var renamed = model(10)
        renamed.entities["Thing"]?.attributes["name"] = nil
        renamed.entities["Thing"]?.attributes["title"] = Attribute(
            "title", .string, renamedFrom: "name")
        _ = try greeted(bench, renamed)
        try bench.turn()
        try old.read()
        #expect(old.isClosed && old.failure?.code == .schemaMismatch)
        #expect(!bystander.isClosed)
        let error = try refusal(bench, model(10))
        #expect(
            error?.message.contains("Thing.name: dropped (the store has renamed it to title)")
                == true)
        #expect(error?.message.contains("newer version of the app") == true)
    }

    @Test func `an empty store adopts another model completely`() throws {
        let bench = try EngineBench(model: model(10))
        #expect(try greeted(bench, model(5)).model.model == model(5))
        let other = ManagedObjectModel { Entity("Thing") { Attribute("size", .string) } }
        #expect(try greeted(bench, other).model.model == other)
        // A model without conflicts is still merged.
        let sibling = ManagedObjectModel { Entity("Sibling") }
        let both = try greeted(bench, sibling).model.model
        #expect(Set(both.entities.keys) == ["Thing", "Sibling"])
    }

    @Test func `a reader uses the existing model and adds nothing`() throws {
        let bench = try EngineBench(model: model(10), roles: RoleTests.policy)
        let part = ManagedObjectModel { Entity("Part") }
        let hello = Hello(author: "r", model: part.json.text)
        #expect(try bench.client(hello, as: RoleTests.reader).model.model == model(10))
        let peer = try bench.peer(as: RoleTests.reader)
        try peer.greet(Hello(author: "r", model: model(20).json.text))
        #expect(peer.failure?.code == .denied)
        #expect(bench.bench.store.model?.model == model(10))
    }
}

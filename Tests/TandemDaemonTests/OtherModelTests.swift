import TandemModel
import TandemStore
import TandemWire
import Testing

@testable import TandemDaemon

/// Requests with slots of a model other than the store's.
@Suite(.ownThread) struct OtherModelTests {
    private let hash = StableHash([1])
    private let before = ManagedObjectModel {
        Entity("Node") {
            Attribute("name", .string)
            Attribute("note", .string)
            Relationship("tags", to: "Tag", inverse: "nodes", toMany: true)
        }
        Entity("Tag") { Relationship("nodes", to: "Node", inverse: "tags", toMany: true) }
    }
    /// Adds new properties before the existing ones, so that every slot changes.
    private let after = ManagedObjectModel {
        Entity("Node") {
            Attribute("alpha", .string)
            Attribute("name", .string)
            Attribute("note", .string)
            Relationship("badges", to: "Tag", inverse: "wearers", toMany: true)
            Relationship("tags", to: "Tag", inverse: "nodes", toMany: true)
        }
        Entity("Tag") {
            Relationship("nodes", to: "Node", inverse: "tags", toMany: true)
            Relationship("wearers", to: "Node", inverse: "badges", toMany: true)
        }
    }

    @Test func `law 3: a save made under another model is refused, and nothing is saved`() throws {
        let bench = try CommitBench(model: before)
        try bench.save([try bench.insert("Node", 1, ["name": .string("old")])])
        let operations = [try bench.update("Node", 1, ["name": .string("new")])]
        var request = SaveRequest(
            saveID: [1], contentHash: hash, modelVersion: try bench.model.version,
            operations: operations)
        try bench.committer.install(after, by: Principal())
        let (position, content) = (bench.committer.position, try dump(bench.store))
        for version: UInt16 in [0, 1, 3, .max] {
            request.modelVersion = version
            let error = #expect(throws: TandemError.self) { try bench.save(request) }
            #expect(error?.code == .schemaMismatch)
            #expect(error?.message.contains("nothing was saved; save again") == true)
        }
        #expect(bench.committer.position == position)
        #expect(try dump(bench.store) == content)
        // The id is still free for the same save with the current slots.
        request.modelVersion = try bench.model.version
        request.operations = [try bench.update("Node", 1, ["name": .string("new")])]
        #expect(try !bench.save(request).isRepeat)
        #expect(try bench.value("Node", 1, "name") == .string("new"))
        #expect(try bench.value("Node", 1, "alpha") == .null)
    }

    @Test func `law 3: a repeat is answered whatever the current model is`() throws {
        let bench = try CommitBench(model: before)
        let version = try bench.model.version
        let wrote = SaveRequest(
            saveID: [1], contentHash: hash, modelVersion: version,
            operations: [try bench.insert("Node", 1, ["name": .string("a")])])
        let empty = SaveRequest(
            saveID: [2], contentHash: hash, modelVersion: version, operations: [])
        let firsts = try [wrote, empty].map { try bench.save($0) }
        try bench.committer.install(after, by: Principal())
        for isCrashed in [false, true] {
            if isCrashed { try bench.crash() }
            for (request, first) in zip([wrote, empty], firsts) {
                var expected = first
                expected.isRepeat = true
                #expect(try bench.save(request) == expected)
            }
        }
        var question = wrote
        question.saveID = [3]
        question.onlyAsks = true
        #expect(try !bench.save(question).isRepeat)
    }

    @Test func `members requested by slots of another model are refused`() throws {
        let bench = try EngineBench(model: before)
        let client = try bench.client()
        let lease = try #require(client.welcome?.lease)
        let node = try bench.bench.reference("Node", lease.first)
        let tag = try bench.bench.reference("Tag", lease.first + 1)
        try client.save([
            try bench.bench.insert("Tag", tag.number),
            try bench.bench.insert("Node", node.number, links: ["tags": [tag]]),
        ])
        let slot = try #require(try bench.bench.entity("Node").slot(of: "tags"))
        var read = Read(
            objects: [node], members: [MemberRequest(owner: node, slot: slot)],
            modelVersion: try bench.bench.model.version)
        guard case .objects(let answer) = try client.ask(.read(read)) else {
            Issue.record("no answer")
            return
        }
        #expect(answer.members.first?.members == [tag])
        guard case .schema = try client.ask(.schema(SchemaRequest(model: after.json.text))) else {
            Issue.record("the model was not installed")
            return
        }
        guard case .failure(let error) = try client.ask(.read(read)) else {
            Issue.record("answered under another model")
            return
        }
        #expect(error.code == .schemaMismatch)
        // Rows are identified by tags, which keep their meaning.
        read.members = []
        guard case .objects(let rows) = try client.ask(.read(read)) else {
            Issue.record("no rows")
            return
        }
        #expect(rows.objects.map(\.object) == [node])
    }
}

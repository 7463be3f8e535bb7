import TandemModel
import TandemQuery
import Testing

@testable import TandemDaemon

/// A reader's own copy of the model.
@Suite(.ownThread) struct ModelCopyTests {
    @Test func `a copy has the content of the model and none of its objects`() throws {
        let first = try CompiledModel(graphModel)
        var model = graphModel
        model.entities["Spare"] = Entity("Spare") { Attribute("name", .string) }
        let second = try CompiledModel(model, replacing: first)
        let copy = second.copy()
        #expect(copy !== second && copy.hash == second.hash && copy.version == second.version)
        #expect(copy.identifiers == second.identifiers)
        for (own, other) in zip(copy.entities, second.entities) {
            #expect(own !== other && own.name == other.name && own.tag == other.tag)
        }
    }

    @Test func `a new copy is made for another model, and for no other reason`() throws {
        let copy = ModelCopy()
        let (one, other) = (try CompiledModel(graphModel), try CompiledModel(graphModel))
        let first = copy.of(one)
        #expect(copy.of(one) === first)
        let second = copy.of(other)
        #expect(second !== first && copy.of(other) === second)
    }

    @Test func `a read with a copy of the model returns the same as with the model`() throws {
        let bench = try EngineBench.ofReaders()
        try bench.insertNodes(50, isGrouped: true)
        try bench.bench.committer.checkpoint()
        let model = try bench.bench.model
        let request = FetchDescriptor(
            entity: "Node",
            predicate: try ObjectPredicate(format: "group.title == 'g' AND rank > 9"),
            sort: ["group.title", "-rank"])
        let compiled = try CompiledRequest(request, in: model)
        let snapshot = try bench.bench.store.snapshot()
        defer { snapshot.end() }
        let expected = Array(try snapshot.fetch(compiled).objects)
        let copy = ModelCopy().of(model)
        snapshot.use(copy: copy)
        #expect(Array(try snapshot.fetch(try compiled.compiled(in: copy)).objects) == expected)
        #expect(expected.count == 42)
    }
}

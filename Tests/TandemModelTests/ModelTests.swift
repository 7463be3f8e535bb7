import TandemModel
import Testing

struct ModelTests {
    private func problems(_ model: ManagedObjectModel) -> [String] {
        do {
            _ = try CompiledModel(model)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func `a model survives its JSON form`() throws {
        let text = sampleModel.json.text
        let read = try ManagedObjectModel(parsing: text)
        #expect(read == sampleModel)
        #expect(read.json.text == text && read.hash == sampleModel.hash)
    }

    @Test func `a model survives its binary form`() throws {
        let model = try CompiledModel(sampleModel)
        var writer = ByteWriter()
        model.encode(into: &writer)
        var reader = ByteReader(writer.bytes)
        let read = try CompiledModel(from: &reader)
        #expect(read.model == model.model && read.identifiers == model.identifiers)
        #expect(read.version == model.version && read.hash == model.hash)
    }

    private func bytes(_ identifiers: [String: UInt16], _ model: ManagedObjectModel) -> [UInt8] {
        var writer = ByteWriter()
        writer.uint16(1)
        writer.count(identifiers.count)
        for (key, value) in identifiers {
            writer.string(key)
            writer.uint16(value)
        }
        writer.string(model.json.text)
        return writer.bytes
    }

    @Test(arguments: [["x": UInt16.max], ["entity:Bucket": 3, "entity:Content": 3], ["x": 0]])
    func `impossible numbers are refused`(_ identifiers: [String: UInt16]) {
        var reader = ByteReader(bytes(identifiers, sampleModel))
        #expect(throws: CodingError.self) { try CompiledModel(from: &reader) }
    }

    @Test func `a replaced model keeps its numbers`() throws {
        let first = try CompiledModel(sampleModel)
        var changed = sampleModel
        changed.entities["Album"] = Entity("Album") { Attribute("name", .string) }
        changed.entities["ImageContent"] = nil
        let second = try CompiledModel(changed, replacing: first)
        #expect(second.version == first.version + 1)
        for entity in second.entities where entity.name != "Album" {
            #expect(entity.tag == first.entity(named: entity.name)?.tag)
        }
        let album = try #require(second.entity(named: "Album"))
        #expect(first.identifiers.values.allSatisfy { $0 < album.tag })
    }

    @Test(arguments: [
        "{}", "[]", "{\"entities\": 1}", "{\"entities\": {\"A\": {\"attributs\": {}}}}",
        "{\"entities\": {\"A\": {\"attributes\": {\"x\": {\"type\": \"number\"}}}}}",
        "{\"entities\": {\"A\": {\"attributes\": {\"x\": {\"type\": \"int\", \"default\": \"a\"}}}}}",
        "{\"entities\": {\"A\": {\"relationships\": {\"x\": {\"to\": \"A\"}}}}}",
        "{\"entities\": {\"A\": {\"uniqueness\": [[]]}}}", "no JSON",
        "{\"entities\": {\"A\": {\"relationships\": {\"x\": {\"to\": \"A\", \"inverse\": \"x\", \"min\": 0.5}}}}}",
    ])
    func `invalid JSON is refused`(_ text: String) {
        #expect(throws: ModelError.self) { try ManagedObjectModel(parsing: text) }
    }

    @Test func `all problems are listed`() {
        let model = ManagedObjectModel {
            Entity("A", parent: "Nowhere") { Attribute("x", .int) }
            Entity("B", uniqueness: [["y"]]) {
                Attribute("1x", .int)
                Attribute("d", .int, default: .string("a"), min: 2, max: 1)
                Relationship("r", to: "Nowhere", inverse: "r")
                Relationship("s", to: "B", inverse: "t")
                Relationship("u", to: "B", inverse: "u", max: 2)
                Relationship("v", to: "B", inverse: "v", toMany: true, min: 3, max: 2)
                Relationship("w", to: "B", inverse: "w", toMany: true, min: -1)
            }
            Entity("C", parent: "D")
            Entity("D", parent: "C")
        }
        let found = problems(model)
        for place in [
            "A:", "B.1x:", "B.d: default", "B.d: `min`", "B.r:", "B.s:", "B.u: `min`",
            "B.v: `min` is above", "B.w: `min` must be at least 0", "B:", "C:", "D:",
        ] {
            #expect(found.contains { $0.hasPrefix(place) }, "\(place)")
        }
    }

    @Test func `the JSON form has the bounds of member counts`() throws {
        let model = ManagedObjectModel {
            Entity("A") {
                Relationship("x", to: "A", inverse: "x", toMany: true, min: 2, max: 3)
            }
        }
        let again = try ManagedObjectModel(parsing: model.json.text)
        let relationship = try #require(again.entities["A"]?.relationships["x"])
        #expect(relationship.minimum == 2 && relationship.maximum == 3)
        #expect(again == model && problems(model).isEmpty)
    }

    @Test func `a property can't be declared twice`() {
        let model = ManagedObjectModel {
            Entity("A") { Attribute("x", .int) }
            Entity("B", parent: "A") { Attribute("x", .int) }
        }
        #expect(problems(model).count == 1)
    }

    @Test func `an entity knows its ancestors and subentities`() throws {
        let model = try CompiledModel(sampleModel)
        let content = try #require(model.entity(named: "Content"))
        let image = try #require(model.entity(named: "ImageContent"))
        #expect(content.includes(image.tag) && !image.includes(content.tag))
        #expect(image.ancestors == [image.tag, content.tag])
        #expect(image.uniqueness.map(\.properties) == [["name"]])
    }

    @Test func `a mask has the slots added to it`() {
        var mask = PropertyMask([0, 63, 64, 127])
        #expect(mask.slots == [0, 63, 64, 127])
        mask.remove(64)
        #expect(!mask.contains(64) && mask.contains(127) && !mask.isEmpty)
        #expect(mask.intersection(PropertyMask([127, 1])).slots == [127])
        #expect(mask.union(PropertyMask([1])).slots == [0, 1, 63, 127])
    }
}

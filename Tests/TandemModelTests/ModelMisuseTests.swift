import FoundationEssentials
import TandemModel
import Testing

@Suite struct ModelMisuseTests {
    private func problems(_ model: ManagedObjectModel) -> [String] {
        do {
            _ = try CompiledModel(model)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    private func problems(_ attribute: Attribute) -> [String] {
        problems(ManagedObjectModel { Entity("A") { attribute } })
    }

    @Test func `two elements with one name are refused, whichever would win`() throws {
        #expect(
            problems(
                ManagedObjectModel {
                    Entity("A")
                    Entity("A") { Attribute("x", .int) }
                }) == ["A: two entities have this name; rename one of them"])
        #expect(
            problems(
                ManagedObjectModel {
                    Entity("A") {
                        Attribute("x", .int)
                        Attribute("x", .string)
                    }
                }) == ["A.x: two properties have this name; rename one of them"])
        #expect(
            problems(
                ManagedObjectModel {
                    Entity("A") {
                        Attribute("x", .int)
                        Relationship("x", to: "A", inverse: "x")
                    }
                }
            ).contains("A.x: two properties have this name; rename one of them"))
    }

    @Test func `two elements can't be renamed from the same one`() throws {
        let model = ManagedObjectModel {
            Entity("A", renamedFrom: "Z") {
                Attribute("x", .int, renamedFrom: "w")
                Attribute("y", .int, renamedFrom: "w")
            }
            Entity("B", renamedFrom: "Z")
        }
        #expect(
            problems(model) == [
                "B: A has the same former name",
                "A.y: x has the same former name",
            ])
    }

    @Test func `a default that could not be saved is refused`() throws {
        for attribute in [
            Attribute("x", .int, default: .int(3), values: [.int(1)]),
            Attribute("x", .int, default: .int(3), min: 4),
            Attribute("x", .int, default: .int(3), max: 2),
            Attribute("x", .string, default: .string("ab"), max: 1),
            Attribute("x", .string, default: .string("b"), pattern: "a*"),
            Attribute("x", .int, values: [.int(1), .int(9)], max: 5),
        ] {
            let found = problems(attribute)
            #expect(found.count == 1 && found[0].contains("cannot be saved"), "\(found)")
        }
        #expect(problems(Attribute("x", .int, default: .int(3), min: 3, max: 3)).isEmpty)
    }

    @Test func `a store with such a model can still be read`() throws {
        let text =
            #"{"entities": {"A": {"attributes": {"x": {"type": "int", "default": 3, "max": 2}}}}}"#
        var writer = ByteWriter()
        writer.uint16(1)
        writer.count(0)
        writer.string(text)
        var reader = ByteReader(writer.bytes)
        #expect(try CompiledModel(from: &reader).entity(named: "A") != nil)
        #expect(throws: ModelError.self) {
            try CompiledModel(try ManagedObjectModel(parsing: text))
        }
    }

    @Test(arguments: [AttributeType.bool, .uuid])
    func `limits require a type with a size`(_ type: AttributeType) {
        #expect(problems(Attribute("x", type, min: 1)).count == 1)
        #expect(problems(Attribute("x", type, max: 1)).count == 1)
    }

    @Test func `limits of integers and decimals are exact`() throws {
        let large: Int64 = 9_007_199_254_740_993
        let model = ManagedObjectModel {
            Entity("A") {
                Attribute("i", .int, min: -9_007_199_254_740_993, max: 9_007_199_254_740_993)
                Attribute("d", .decimal, min: 0.1, max: 9_223_372_036_854_775_807)
                Attribute("f", .double, max: 9_007_199_254_740_993)
            }
        }
        #expect(try ManagedObjectModel(parsing: model.json.text) == model)
        let entity = try #require(try CompiledModel(model).entity(named: "A"))
        func isAllowed(_ name: String, _ value: PropertyValue) throws -> Bool {
            try #require(entity.property(named: name)).problem(with: value) { _ in nil } == nil
        }
        #expect(try isAllowed("i", .int(large)) && !isAllowed("i", .int(large + 1)))
        #expect(try isAllowed("i", .int(-large)) && !isAllowed("i", .int(-large - 1)))
        for (text, isFine) in [
            ("0.1", true), ("0.0999999999999999999999", false), ("9223372036854775807", true),
            ("9223372036854775807.1", false),
        ] {
            let decimal = try #require(Decimal(string: text))
            #expect(try isAllowed("d", .decimal(decimal)) == isFine, "\(text)")
        }
        #expect(try isAllowed("f", .double(9_007_199_254_740_992)))
        #expect(try !isAllowed("f", .double(9_007_199_254_740_994)))
        #expect(try !isAllowed("f", .double(.infinity)))
    }
}

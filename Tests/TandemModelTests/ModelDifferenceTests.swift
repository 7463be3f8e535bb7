import TandemModel
import Testing

/// One key of a model's JSON form in two states, and the effects of changing it in both directions.
struct KeyChange: CustomTestStringConvertible, Sendable {
    typealias Effect = ModelDifference.Effect

    let aspect: ModelDifference.Aspect
    let before: String
    let after: String
    let there: Effect
    let back: Effect
    var isRelationship = false

    var testDescription: String { "\(aspect.rawValue): \(before) to \(after)" }

    /// Returns a model with an entity whose property `p` has these JSON members.
    func model(_ members: String) throws -> ManagedObjectModel {
        let entity =
            isRelationship
            ? """
            {"relationships": {"p": {"to": "B", "inverse": "q" \(members)}, "r": {"to": "B", "inverse": "s"}}}
            """
            : #"{"attributes": {"p": {\#(members)}}}"#
        let other = """
            {"relationships": {"q": {"to": "A", "inverse": "p"}, "s": {"to": "A", "inverse": "r"}}}
            """
        let rest = isRelationship ? #", "B": \#(other), "C": {"parent": "B"}"# : ""
        return try ManagedObjectModel(parsing: #"{"entities": {"A": \#(entity)\#(rest)}}"#)
    }

    static let attributes = [
        KeyChange(
            aspect: .type, before: #""type": "int""#, after: #""type": "string""#, there: .loses,
            back: .loses),
        KeyChange(
            aspect: .type, before: #""type": "data""#, after: #""type": "int""#,
            there: .impossible, back: .impossible),
        KeyChange(
            aspect: .optional, before: #""type": "int", "optional": false"#,
            after: #""type": "int""#, there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .defaultValue, before: #""type": "int""#,
            after: #""type": "int", "default": 1"#,
            there: .changesRules, back: .changesRules),
        KeyChange(
            aspect: .defaultValue, before: #""type": "int", "default": 2"#,
            after: #""type": "int", "default": 1"#, there: .changesRules, back: .changesRules),
        KeyChange(
            aspect: .values, before: #""type": "int", "values": [1, 2]"#, after: #""type": "int""#,
            there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .values, before: #""type": "int", "values": [1, 2]"#,
            after: #""type": "int", "values": [3, 2, 1]"#, there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .values, before: #""type": "int", "values": [1, 2]"#,
            after: #""type": "int", "values": [2, 3]"#, there: .needsCheck, back: .needsCheck),
        KeyChange(
            aspect: .minimum, before: #""type": "int", "min": 5"#, after: #""type": "int""#,
            there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .minimum, before: #""type": "int", "min": 5"#,
            after: #""type": "int", "min": 3"#, there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .maximum, before: #""type": "int", "max": 10"#, after: #""type": "int""#,
            there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .maximum, before: #""type": "int", "max": 9007199254740992"#,
            after: #""type": "int", "max": 9007199254740993"#, there: .compatible,
            back: .needsCheck),
        KeyChange(
            aspect: .pattern, before: #""type": "string", "pattern": "a*""#,
            after: #""type": "string""#, there: .compatible, back: .needsCheck),
        KeyChange(
            aspect: .pattern, before: #""type": "string", "pattern": "a*""#,
            after: #""type": "string", "pattern": "b*""#, there: .needsCheck, back: .needsCheck),
    ]

    static let relationships = [
        KeyChange(
            aspect: .toMany, before: "", after: #", "toMany": true"#, there: .impossible,
            back: .impossible, isRelationship: true),
        KeyChange(
            aspect: .ordered, before: #", "toMany": true"#,
            after: #", "toMany": true, "ordered": true"#, there: .impossible, back: .impossible,
            isRelationship: true),
        KeyChange(
            aspect: .deleteRule, before: "", after: #", "deleteRule": "cascade""#,
            there: .changesRules, back: .changesRules, isRelationship: true),
        KeyChange(
            aspect: .deleteRule, before: #", "deleteRule": "deny""#,
            after: #", "deleteRule": "noAction""#, there: .changesRules, back: .changesRules,
            isRelationship: true),
        KeyChange(
            aspect: .optional, before: #", "optional": false"#, after: "", there: .compatible,
            back: .needsCheck, isRelationship: true),
        KeyChange(
            aspect: .minimum, before: #", "toMany": true, "min": 2"#, after: #", "toMany": true"#,
            there: .compatible, back: .needsCheck, isRelationship: true),
        KeyChange(
            aspect: .maximum, before: #", "toMany": true, "max": 2"#,
            after: #", "toMany": true, "max": 3"#, there: .compatible, back: .needsCheck,
            isRelationship: true),
    ]
}

@Suite struct ModelDifferenceTests {
    @Test(arguments: KeyChange.attributes + KeyChange.relationships)
    func `every key is compared in both directions`(_ change: KeyChange) throws {
        let (before, after) = (try change.model(change.before), try change.model(change.after))
        for (from, to, effect) in [
            (before, after, change.there), (after, before, change.back),
        ] {
            let found = from.differences(to: to)
            #expect(found.map(\.aspect) == [change.aspect])
            #expect(found.map(\.effect) == [effect])
            #expect(found.map(\.entity) == ["A"] && found.map(\.property) == ["p"])
            #expect(found.map { ModelDifference(json: $0.json) } == found)
        }
        #expect(before.differences(to: before).isEmpty)
    }

    @Test func `another destination, inverse or parent is an impossible change`() throws {
        let model = ManagedObjectModel {
            Entity("A") { Relationship("b", to: "B", inverse: "a") }
            Entity("B") { Relationship("a", to: "A", inverse: "b") }
            Entity("C", parent: "B")
        }
        var other = model
        other.entities["A"]?.relationships["b"]?.destination = "C"
        other.entities["B"]?.relationships["a"]?.inverse = "c"
        other.entities["C"]?.parent = nil
        let found = model.differences(to: other)
        #expect(found.map(\.aspect) == [.destination, .inverse, .parent])
        #expect(found.allSatisfy { $0.effect == .impossible })
        #expect(found.first?.description.hasPrefix("A.b: to B → C (") == true)
    }

    @Test func `added and removed elements are additions and losses`() throws {
        let small = ManagedObjectModel { Entity("A", indexes: [["x"]]) { Attribute("x", .int) } }
        let large = ManagedObjectModel {
            Entity("A", uniqueness: [["x"]], indexes: [["x", "y"]]) {
                Attribute("x", .int)
                Attribute("y", .string, optional: false, default: .string("a"))
                Attribute("z", .string, optional: false)
            }
            Entity("B")
        }
        let there = small.differences(to: large)
        #expect(
            there.map(\.description) == [
                "A.y: added, string, required, default \"a\" (compatible)",
                "A.z: added, string, required (existing objects have no value: make it "
                    + "optional or give it a default)",
                "A: uniqueness none → [x] (stored objects must satisfy it)",
                "A: index [x] → none (no data is lost)",
                "A: index none → [x, y] (compatible)",
                "B: added, entity (compatible)",
            ])
        #expect(
            there.map(\.effect) == [
                .compatible, .needsCheck, .needsCheck, .compatible, .compatible, .compatible,
            ])
        // Without objects no rule can be violated.
        #expect(small.differences(to: large) { _ in false }.allSatisfy { $0.isCompatible })
        let back = large.differences(to: small)
        #expect(
            back.map(\.effect) == [
                .loses, .loses, .compatible, .compatible, .compatible, .loses,
            ])
    }

    @Test func `renames by hint are compatible and hide nothing else`() throws {
        let old = ManagedObjectModel {
            Entity("Person", uniqueness: [["name"]], indexes: [["boss"]]) {
                Attribute("name", .string)
                Relationship("boss", to: "Person", inverse: "staff")
                Relationship("staff", to: "Person", inverse: "boss", toMany: true)
            }
            Entity("Captain", parent: "Person", indexes: [["name"]])
        }
        let new = ManagedObjectModel {
            Entity("Human", uniqueness: [["title"]], indexes: [["lead"]], renamedFrom: "Person") {
                Attribute("title", .string, max: 5, renamedFrom: "name")
                Relationship("lead", to: "Human", inverse: "team", renamedFrom: "boss")
                Relationship(
                    "team", to: "Human", inverse: "lead", toMany: true, renamedFrom: "staff")
            }
            Entity("Captain", parent: "Human", indexes: [["title"]])
        }
        let found = old.differences(to: new)
        #expect(
            found.map(\.description) == [
                "Human: renamed from Person (its objects are kept; apps that know only the old "
                    + "name are refused)",
                "Human.lead: renamed from boss (its values are kept; apps that know only the old "
                    + "name are refused)",
                "Human.team: renamed from staff (its values are kept; apps that know only the old "
                    + "name are refused)",
                "Human.title: renamed from name (its values are kept; apps that know only the old "
                    + "name are refused)",
                "Human.title: max none → 5 (stored objects must satisfy it)",
            ])
        let first = try CompiledModel(old)
        let second = try CompiledModel(new, replacing: first)
        #expect(Set(second.identifiers.values) == Set(first.identifiers.values))
        #expect(second.entity(named: "Human")?.tag == first.entity(named: "Person")?.tag)
        // An applied hint has no further effect.
        #expect(new.differences(to: new).isEmpty)
        let third = try CompiledModel(new, replacing: second)
        #expect(third.identifiers == second.identifiers)
        #expect(try ManagedObjectModel(parsing: new.json.text) == new)
    }

    @Test func `declarations of an app are adopted, unknown elements stay`() throws {
        let store = ManagedObjectModel {
            Entity("A", uniqueness: [["x"]], indexes: [["x"]]) {
                Attribute("x", .int, max: 10)
                Attribute("mine", .string)
            }
            Entity("Mine")
        }
        let declared = ManagedObjectModel {
            Entity("A", indexes: [["y"]]) {
                Attribute("x", .int, max: 20)
                Attribute("y", .int)
            }
        }
        let merged = store.adopting(declared)
        #expect(store.differences(to: merged).allSatisfy { $0.isCompatible })
        #expect(merged.entities["Mine"] != nil && merged.entities["A"]?.attributes.count == 3)
        #expect(merged.entities["A"]?.uniqueness == [["x"]])
        #expect(merged.entities["A"]?.indexes == [["x"], ["y"]])
        #expect(merged.entities["A"]?.attributes["x"]?.maximum == 20)
        #expect(declared.missing(in: merged).isEmpty && !declared.missing(in: store).isEmpty)
        #expect(merged.adopting(declared) == merged)
    }

    @Test func `conversions keep what they can and lose the rest`() throws {
        func convert(_ value: PropertyValue, _ from: AttributeType, _ to: AttributeType) throws
            -> PropertyValue
        {
            let conversion = try #require(ValueConversion(from: from, to: to))
            return conversion(value)
        }
        #expect(try convert(.int(7), .int, .string) == .string("7"))
        #expect(try convert(.string("7"), .string, .int) == .int(7))
        #expect(try convert(.string("x"), .string, .int) == .null)
        #expect(try convert(.double(0.5), .double, .int) == .null)
        #expect(
            try convert(.double(0.1), .double, .decimal)
                == PropertyValue(json: .string("0.1"), type: .decimal))
        #expect(try convert(.int(2), .int, .bool) == .null)
        #expect(try convert(.date(0), .date, .string) == .string("1970-01-01T00:00:00Z"))
        #expect(try convert(.string("1970-01-01T00:00:01.5Z"), .string, .date) == .date(1.5))
        #expect(try convert(.null, .int, .string) == .null)
        #expect(ValueConversion(from: .data, to: .string) == nil)
    }
}

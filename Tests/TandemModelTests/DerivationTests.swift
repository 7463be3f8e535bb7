import TandemModel
import Testing

/// The declaration and validation of derived attributes in a model.
@Suite struct DerivationTests {
    private func model(_ attributes: Attribute..., uniqueness: [[String]] = [])
        -> ManagedObjectModel
    {
        ManagedObjectModel {
            Entity("Person") {
                Attribute("born", .date)
                Attribute("name", .string, optional: false)
                Attribute("nick", .string)
                Relationship("team", to: "Team", inverse: "people")
                Relationship("teams", to: "Team", inverse: "fans", toMany: true)
            }
            Entity("Player", parent: "Person", uniqueness: uniqueness) {
                for attribute in attributes { attribute }
            }
            Entity("Team") {
                Relationship("people", to: "Person", inverse: "team", toMany: true)
                Relationship("fans", to: "Person", inverse: "teams", toMany: true)
            }
        }
    }

    private func problems(_ model: ManagedObjectModel) -> [String] {
        do {
            _ = try CompiledModel(model)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test func `attributes derived from inherited properties are compiled to slots`() throws {
        let declared = model(
            Attribute("teamCount", .int, derived: .count("teams")),
            Attribute("folded", .string, derived: .folded("name")))
        let player = try #require(try CompiledModel(declared).entity(named: "Player"))
        let person = try #require(try CompiledModel(declared).entity(named: "Person"))
        #expect(person.derived.isEmpty && person.derivations.isEmpty)
        #expect(player.derivations.map { player.properties[$0.source].name } == ["name", "teams"])
        #expect(player.derived.map { player.properties[$0].name } == ["folded", "teamCount"])
        #expect(player.required.map { player.properties[$0].name } == ["name"])
        let count = try #require(player.slot(of: "teamCount"))
        #expect(player.defaults[count] == .int(0) && !player.settable.contains(count))
        let read = try ManagedObjectModel(parsing: declared.json.text)
        #expect(read == declared && read.hash == declared.hash)
        #expect(declared.json.text.contains(#""derived":"teams.@count""#))
        #expect(declared.json.text.contains(#""derived":"canonical:(name)""#))
    }

    @Test(arguments: [
        "", "teams", "@count", ".@count", "teams.@sum", "a.b.@count", "canonical:name",
        "canonical:()", "canonical:(a.b)", "lower:(name)", " teams.@count",
    ]) func `any other text is refused`(_ text: String) {
        #expect(Derivation(text) == nil)
        let json = #"""
            {"entities": {"A": {"attributes": {"n": {"type": "int", "derived": "\#(text)"}}}}}
            """#
        let error = #expect(throws: ModelError.self) { try ManagedObjectModel(parsing: json) }
        #expect(error?.problems.first?.entity == "A" && error?.problems.first?.property == "n")
        #expect(error?.description.contains("RELATIONSHIP.@count") == true)
    }

    @Test(arguments: [
        (Attribute("x", .double, derived: .count("teams")), "of type int"),
        (Attribute("x", .int, derived: .count("team")), "to-many relationship"),
        (Attribute("x", .int, derived: .count("name")), "to-many relationship"),
        (Attribute("x", .int, derived: .count("x")), "to-many relationship"),
        (Attribute("x", .int, derived: .count("none")), "to-many relationship"),
        (Attribute("x", .url, derived: .folded("name")), "of type string"),
        (Attribute("x", .string, derived: .folded("born")), "attribute of type string"),
        (Attribute("x", .string, derived: .folded("team")), "attribute of type string"),
        (Attribute("x", .string, derived: .folded("x")), "not derived"),
        (Attribute("x", .string, optional: false, derived: .folded("nick")), "be optional"),
        (Attribute("x", .int, default: .int(1), derived: .count("teams")), "no default"),
        (Attribute("x", .int, values: [.int(1)], derived: .count("teams")), "no rules"),
        (Attribute("x", .int, min: 1, derived: .count("teams")), "no rules"),
        (Attribute("x", .string, max: 1, derived: .folded("name")), "no rules"),
        (Attribute("x", .string, pattern: "a", derived: .folded("name")), "no rules"),
    ]) func `invalid derivations are refused with entity and property`(
        _ attribute: Attribute, _ reason: String
    ) {
        let found = problems(model(attribute))
        #expect(found.count == 1 && found[0].hasPrefix("Player.x: "), "\(found)")
        #expect(found.allSatisfy { $0.contains(reason) }, "\(found)")
    }

    @Test func `a derived attribute is neither a source of derivation nor unique`() {
        let folded = Attribute("folded", .string, derived: .folded("name"))
        let again = Attribute("again", .string, derived: .folded("folded"))
        #expect(problems(model(folded, again)).map { $0.prefix(13) } == ["Player.again:"])
        let found = problems(model(folded, uniqueness: [["name", "folded"]]))
        #expect(found == ["Player.folded: uniqueness cannot use derived attributes"])
        let count = Attribute("count", .int, optional: false, derived: .count("teams"))
        #expect(problems(model(folded, count)) == [])
    }

    @Test func `changes of derivations are named, with their effects`() throws {
        let plain = model(Attribute("x", .int))
        let count = model(Attribute("x", .int, optional: false, derived: .count("teams")))
        func line(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> [String] {
            old.differences(to: new).filter { $0.aspect != .optional }.map {
                "\($0.effect) \($0)"
            }
        }
        let added = line(model(), count)
        #expect(
            added == [
                "compatible Player.x: added, int, required, derived teams.@count (compatible)"
            ])
        #expect(line(count, model()).map { $0.prefix(12) } == ["changesRules"])
        #expect(
            line(plain, count) == [
                "loses Player.x: derived none → teams.@count (its values are replaced by computed ones)"
            ])
        #expect(
            line(count, plain) == [
                "changesRules Player.x: derived teams.@count → none "
                    + "(its values are kept and can be set)"
            ])
        let folded = model(Attribute("x", .string, derived: .folded("name")))
        let other = model(Attribute("x", .string, derived: .folded("nick")))
        #expect(
            line(folded, other) == [
                "changesRules Player.x: derived canonical:(name) → canonical:(nick) "
                    + "(its values are recomputed)"
            ])
    }

    @Test func `renaming the source of a derivation does not change the derivation`() throws {
        let old = model(Attribute("x", .string, derived: .folded("nick")))
        var new = old
        new.entities["Person"]?.attributes["nick"] = nil
        new.entities["Person"]?.attributes["alias"] = Attribute(
            "alias", .string, renamedFrom: "nick")
        new.entities["Player"]?.attributes["x"]?.derived = .folded("alias")
        #expect(old.differences(to: new).map(\.aspect) == [.name])
        let (before, after) = (
            try CompiledModel(old), try CompiledModel(new, replacing: CompiledModel(old))
        )
        let migration = RowMigration(
            from: try #require(before.entity(named: "Player")),
            to: try #require(after.entity(named: "Player")))
        #expect(migration.derives.isEmpty)
    }
}

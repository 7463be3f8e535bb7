import Testing

/// The attributes and relationships that stored properties expand to.
struct PropertyExpansionTests {
    @Test(arguments: [
        ("Bool", "bool"), ("Int", "int"), ("Int64", "int"), ("Double", "double"),
        ("Decimal", "decimal"), ("String", "string"), ("Date", "date"), ("Data", "data"),
        ("UUID", "uuid"), ("Foundation.Date", "date"), ("Swift.Int", "int"),
        ("FoundationEssentials.UUID", "uuid"),
    ])
    func `built-in types`(type: String, attributeType: String) {
        expectEntity(
            "var a: \(type)\nvar b: \(type)?\nvar c: Optional<\(type)>",
            """
            Attribute("a", .\(attributeType), optional: false)
            Attribute("b", .\(attributeType))
            Attribute("c", .\(attributeType))
            """)
    }

    @Test func `an app's types provide their attribute type`() {
        expectEntity(
            "var level: Level\nvar home: Address?\nvar last: Game.Result?\nvar site: URL?",
            """
            Attribute("level", AttributeType(of: Level.self), optional: false)
            Attribute("home", AttributeType(of: Address.self))
            Attribute("last", AttributeType(of: Game.Result.self))
            Attribute("site", .url)
            """)
    }

    @Test(arguments: ["Shift.Date", "Game.Character", "Deck.Int8", "Shift.Set<Int>"])
    func `a type of the app may be named like a built-in one`(type: String) {
        expectEntity(
            "var a: \(type)\nvar b: \(type)?\nvar c: Swift.Optional<\(type)>",
            """
            Attribute("a", AttributeType(of: \(type).self), optional: false)
            Attribute("b", AttributeType(of: \(type).self))
            Attribute("c", AttributeType(of: \(type).self))
            """)
    }

    @Test(arguments: ["Character", "Date", "Data", "Decimal", "URL", "UUID"])
    func `a model class may be named like a built-in type`(name: String) {
        expectEntity(
            """
            @Relationship(inverse: \\.owner) var hero: \(name)?
            @Relationship(inverse: \\.fans) var heroes: Set<\(name)>
            """,
            """
            Relationship("hero", to: "\(name)", inverse: "owner")
            Relationship("heroes", to: "\(name)", inverse: "fans", toMany: true)
            """)
    }

    @Test(arguments: [
        ("Int", "7", ".int(7)"), ("Int64", "-7", ".int(-7)"), ("Double", "1.5", ".double(1.5)"),
        ("Double", "-2", ".double(-2)"), ("Bool", "true", ".bool(true)"),
        ("String", "\"a\\n\"", ".string(\"a\\n\")"),
        ("String", "\"\\(a)\"", "(\"\\(a)\" as String).attributeValue"),
        ("String", "Team.unnamed", "(Team.unnamed as String).attributeValue"),
        ("Decimal", "2", "(2 as Decimal).attributeValue"),
        ("Level", ".low", "(.low as Level).attributeValue"),
        (
            "Date", "Date(timeIntervalSince1970: 0)",
            "(Date(timeIntervalSince1970: 0) as Date).attributeValue"
        ),
        (
            "Date", ".init(timeIntervalSince1970: 0)",
            "(.init(timeIntervalSince1970: 0) as Date).attributeValue"
        ),
        ("UUID", "UUID(uuid: zero)", "(UUID(uuid: zero) as UUID).attributeValue"),
        ("String", ".init()", "(.init() as String).attributeValue"),
        ("Address", ".init()", "(.init() as Address).attributeValue"),
        ("Flags", "Flags.init()", "(Flags.init() as Flags).attributeValue"),
        ("Phase", ".now", "(.now as Phase).attributeValue"),
        ("Shift.Date", "Shift.Date()", "(Shift.Date() as Shift.Date).attributeValue"),
    ])
    func `an initial value is the attribute's default`(type: String, value: String, code: String) {
        let built = ["Int": ".int", "Int64": ".int", "Double": ".double", "Bool": ".bool"]
        let others = ["String": ".string", "Decimal": ".decimal", "Date": ".date", "UUID": ".uuid"]
        let attributeType = built[type] ?? others[type] ?? "AttributeType(of: \(type).self)"
        expectEntity(
            "var a: \(type) = \(value)",
            "Attribute(\"a\", \(attributeType), optional: false, default: \(code))")
    }

    @Test func `an optional may have a default, and nil does not count as one`() {
        expectEntity(
            """
            var a: Int? = 3
            var b: Int? = nil
            var c: Level? = .low
            var d: URL? = URL(string: "https://tandem.example")
            """,
            """
            Attribute("a", .int, default: .int(3))
            Attribute("b", .int)
            Attribute("c", AttributeType(of: Level.self), default: (.low as Level?)?.attributeValue ?? .null)
            Attribute("d", .url, default: (URL(string: "https://tandem.example") as URL?)?.attributeValue ?? .null)
            """)
    }

    @Test func `every option of an attribute is passed on`() {
        expectEntity(
            """
            @Attribute("w", .unique, .indexed, values: [.int(1)], min: 0, max: 7, renamedFrom: "v") var wins: Int
            @Attribute(pattern: "[A-Z]+") var code: String?
            @Attribute(derived: .count("players")) var count: Int
            """,
            """
            Attribute("w", .int, optional: false, values: [.int(1)], min: 0, max: 7, renamedFrom: "v")
            Attribute("code", .string, pattern: "[A-Z]+")
            Attribute("count", .int, optional: false, derived: .count("players"))
            """)
    }

    @Test func `the options unique and indexed belong to the entity`() {
        let expansion = Expansion(
            """
            @Model final class Team: ManagedObject {
                #Index<Team>([\\Team.zone, \\.name], [\\.captain])
                #Unique<Team>([\\.zone])
                @Attribute("w", .unique, .indexed) var wins: Int
                var zone: String
                var name: String
                @Relationship(inverse: \\.leads) var captain: Player?
            }
            """)
        #expect(expansion.errors == [])
        #expect(
            expansion.entity == """
                Entity("Team", uniqueness: [["w"], ["zone"]], indexes: [["w"], ["zone", "name"], ["captain"]])
                """)
    }

    @Test func `the type determines whether a relationship is to-one, to-many or ordered`() {
        expectEntity(
            """
            @Relationship(inverse: \\.team) var captain: Player?
            @Relationship(inverse: \\.teams) var fans: Set<Fans.Fan> = []
            @Relationship(inverse: \\.squad) var lineup: [Player]
            @Relationship(inverse: \\.bench) var bench: Array<Player>
            """,
            """
            Relationship("captain", to: "Player", inverse: "team")
            Relationship("fans", to: "Fan", inverse: "teams", toMany: true)
            Relationship("lineup", to: "Player", inverse: "squad", toMany: true, ordered: true)
            Relationship("bench", to: "Player", inverse: "bench", toMany: true, ordered: true)
            """)
    }

    @Test func `every option of a relationship is passed on`() {
        expectEntity(
            """
            @Relationship(to: "Person", inverse: \\.team, deleteRule: .deny, optional: false, min: 1, max: 11, renamedFrom: "squad")
            var players: Set<Player>
            """,
            """
            Relationship("players", to: "Person", inverse: "team", toMany: true, deleteRule: .deny, optional: false, min: 1, max: 11, renamedFrom: "squad")
            """)
    }

    @Test func `other members are unchanged`() {
        expectEntity(
            """
            static var count = 0
            class var kind: Int { 3 }
            static let shared: [String: Int] = [:]
            var title: String { "x" }
            var other: String { get { "x" } set {} }
            @Transient var cache: [String: Int] = [:]
            @Transient let limit = 3
            @Transient lazy var late = 3
            func run() {}
            var `default`: Int { didSet { run() } }
            """, "Attribute(\"default\", .int, optional: false)")
    }
}

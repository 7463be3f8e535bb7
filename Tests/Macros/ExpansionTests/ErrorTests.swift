import Testing

/// The errors of the macros, with their locations and fixes.
struct ErrorTests {
    /// Expects an error in a class whose properties begin in the second line.
    private func expectError(
        _ member: String, _ error: String, fixed: String? = nil,
        _ location: Testing.SourceLocation = #_sourceLocation
    ) {
        func model(_ member: String) -> String {
            "@Model final class Team: ManagedObject {\n\(member)\n}"
        }
        expectErrors(model(member), [error], fixed: fixed.map(model), location)
    }

    // MARK: The class

    @Test(arguments: ["struct", "enum", "actor"])
    func `only classes have entities`(kind: String) {
        expectErrors(
            "@Model\n\(kind) Team {}",
            ["2:1: `@Model` needs a class; write `final class … : ManagedObject`"])
    }

    @Test func `a class needs a superclass`() {
        let message = "`Team` has no superclass; write `class Team: ManagedObject`"
        expectErrors(
            "@Model\nfinal class Team {}", ["2:13: \(message)"],
            fixed: "@Model\nfinal class Team: ManagedObject {}")
        expectErrors(
            "@Model\nclass Team: ManagedEntity {}", ["2:7: \(message)"],
            fixed: "@Model\nclass Team: ManagedObject, ManagedEntity {}")
    }

    @Test(arguments: [
        "Codable", "Comparable", "Combine.ObservableObject", "CustomStringConvertible",
        "Comparable, Codable",
    ])
    func `a protocol is not a superclass`(name: String) {
        expectErrors(
            "@Model\nclass Team: \(name) {}",
            ["2:7: `Team` has no superclass; write `class Team: ManagedObject`"],
            fixed: "@Model\nclass Team: ManagedObject, \(name) {}")
    }

    @Test(arguments: [
        "Identifiable", "Hashable", "Equatable", "Observable", "Sendable", "@unchecked Sendable",
        "CustomDebugStringConvertible",
    ])
    func `the fix for a missing superclass drops conformances that every object has`(name: String) {
        let errors = ["2:7: `Team` has no superclass; write `class Team: ManagedObject`"]
        expectErrors(
            "@Model\nclass Team: \(name) {}", errors,
            fixed: "@Model\nclass Team: ManagedObject {}")
        expectErrors(
            "@Model\nclass Team: Comparable, \(name) {}", errors,
            fixed: "@Model\nclass Team: ManagedObject, Comparable {}")
        // The compiler reports a superclass that is not first.
        expectErrors("@Model\nclass Team: \(name), ManagedObject {}", [])
    }

    @Test func `a superclass with an entity is the parent`() {
        expectErrors(
            "@Model class Comic: Book {}",
            [
                "1:21: `Book` is not `ManagedObject`; write `@Model(parent: Book.self)` for a parent class, `@Model(parent: nil)` for a class without an entity, or `ManagedObject, Book` for a protocol"
            ], fixed: "@Model(parent: Book.self) class Comic: Book {}")
        expectErrors(
            "@Model(\"C\", renamedFrom: \"B\") class Comic: Book {}",
            [
                "1:44: `Book` is not `ManagedObject`; write `@Model(parent: Book.self)` for a parent class, `@Model(parent: nil)` for a class without an entity, or `ManagedObject, Book` for a protocol"
            ],
            fixed: "@Model(\"C\", parent: Book.self, renamedFrom: \"B\") class Comic: Book {}")
        expectErrors(
            "@Model(parent: Item.self) class Comic: Book {}",
            ["1:16: the parent is not the superclass `Book`; write `parent: Book.self`"])
    }

    @Test func `a class with an entity must not be generic`() {
        expectErrors(
            "@Model class Team<T>: ManagedObject {}",
            ["1:18: a class with an entity cannot be generic"])
    }

    @Test func `a name must be a plain literal`() {
        expectErrors(
            "@Model(\"T\\(1)\") class Team: ManagedObject {}",
            ["1:8: a name must be a string literal without interpolation"])
        expectError(
            "@Attribute(\"a\\(1)\") var a: Int",
            "2:12: a name must be a string literal without interpolation")
    }

    // MARK: Properties

    @Test func `a property needs a type`() {
        expectError(
            "var wins = 0", "2:5: `wins` has no type; write `var wins: Int`",
            fixed: "var wins: Int = 0")
        expectError(
            "var name = \"\"", "2:5: `name` has no type; write `var name: String`",
            fixed: "var name: String = \"\"")
        expectError(
            "var rate = -0.5", "2:5: `rate` has no type; write `var rate: Double`",
            fixed: "var rate: Double = -0.5")
        expectError(
            "var isOut = true", "2:5: `isOut` has no type; write `var isOut: Bool`",
            fixed: "var isOut: Bool = true")
        expectError("var date = make()", "2:5: `date` has no type; write `var date: …`")
    }

    @Test func `a constant can't be a property`() {
        expectError(
            "let name: String",
            "2:1: a property of an entity must be a `var`; write `@Transient` before a constant",
            fixed: "var name: String")
    }

    @Test(arguments: [
        "(Int, Int)", "[String: Int]", "Dictionary<String, Int>", "() -> Void", "Any",
        "any Hashable", "String!", "Int??",
    ])
    func `a type that can't be an attribute is an error`(type: String) {
        expectError(
            "var a: \(type)",
            "2:8: `\(type)` cannot be the type of an attribute; write `@Transient` before the property to leave it out"
        )
    }

    @Test(arguments: [
        ("Int8", "Int"), ("Int16", "Int"), ("Int32", "Int"), ("UInt", "Int"), ("UInt8?", "Int?"),
        ("UInt16", "Int"), ("UInt32", "Int"), ("UInt64", "Int"), ("Float", "Double"),
        ("CGFloat", "Double"), ("Character", "String"), ("Substring", "String"),
        ("[UInt8]", "Data"), ("[UInt8]?", "Data?"), ("Swift.Int32", "Int"),
    ])
    func `an error about a type suggests a supported one`(type: String, alternative: String) {
        expectError(
            "var a: \(type)",
            "2:8: `\(type)` cannot be the type of an attribute; write `\(alternative)`",
            fixed: "var a: \(alternative)")
    }

    @Test(arguments: [
        "[String]", "Set<Int>", "[String]?", "Array<Foundation.Date>", "[[String: Int]]",
        "[[Player]]", "Set<Int?>", "[(Int, Int)]",
    ])
    func `a collection of values can't be an attribute`(type: String) {
        let message =
            "`\(type)` cannot be the type of an attribute or a relationship; wrap it in a struct that conforms to `CodableAttribute`"
        expectError("var tags: \(type)", "2:11: \(message)")
        expectError(
            "@Relationship(inverse: \\.count) var tags: \(type)", "2:43: \(message)")
    }

    @Test func `a collection of optionals can't be a relationship`() {
        expectError(
            "@Relationship(inverse: \\.a) var a: [Team?]",
            "2:36: `[Team?]` cannot be the type of a relationship; write `[Team]`",
            fixed: "@Relationship(inverse: \\.a) var a: [Team]")
    }

    @Test func `a URL must be optional`() {
        expectError(
            "var a: URL", "2:8: an attribute of type `URL` must be optional; write `URL?`",
            fixed: "var a: URL?")
    }

    @Test(arguments: [
        ("Date", "Date()"), ("Date", "Date.init()"), ("Date", "Foundation.Date()"),
        ("Date", "FoundationEssentials.Date.init()"), ("Date", ".init()"), ("Date", ".now"),
        ("Date", "Date.now"), ("Date", "Foundation.Date.now"),
        ("Date", "Date(timeIntervalSinceNow: 60)"), ("Date", ".init(timeIntervalSinceNow: 60)"),
        ("UUID", "UUID()"), ("UUID", "UUID.init()"), ("UUID", "Foundation.UUID()"),
        ("UUID", ".init()"),
    ])
    func `a default must be a constant`(type: String, value: String) {
        expectError(
            "var a: \(type) = \(value)",
            "2:15: the default of an attribute must be a constant; set `a` after each insert instead"
        )
        expectError(
            "var a: \(type)? = \(value)",
            "2:16: the default of an attribute must be a constant; set `a` after each insert instead"
        )
    }

    @Test func `a declaration must have a single property`() {
        let message = "each property of an entity needs its own declaration; split this declaration"
        expectError("var a: Int, b: Int", "2:5: \(message)")
        expectError("var (a, b): (Int, Int)", "2:5: \(message)")
    }

    @Test func `lazy and weak properties can't be attributes`() {
        for kind in ["lazy", "weak"] {
            expectError(
                "\(kind) var a: Int? = 3",
                "2:1: a property of an entity cannot be `\(kind)`; write `@Transient` before the property to leave it out"
            )
        }
    }

    @Test func `stored names must be distinct`() {
        expectError(
            "var area: String\n@Attribute(\"area\") var zone: String",
            "3:24: `area` and `zone` are both stored as `area`; give one of them another name")
    }

    @Test func `annotations belong to stored properties, and exclude each other`() {
        expectError(
            "@Attribute(.unique) var a: Int { 3 }",
            "2:1: a computed property does not belong to the entity; remove `@Attribute`")
        expectError(
            "@Attribute(.unique) static var a: Int = 3",
            "2:1: a static property does not belong to the entity; remove `@Attribute`")
        expectError(
            "@Transient @Relationship(inverse: \\.a) var a: Team?",
            "2:12: a transient property does not belong to the entity; remove `@Relationship`")
        expectError(
            "@Attribute @Relationship(inverse: \\.a) var a: Team?",
            "2:1: a property cannot be both an attribute and a relationship; remove `@Attribute`")
        expectError(
            "@Managed(\"a\") var a: Int",
            "2:1: `@Model` adds `@Managed`; remove it from the property")
    }

    @Test func `an entity must not depend on the build configuration`() {
        expectError(
            "#if DEBUG\nvar a: Int\nvar b: Int { 3 }\n#endif",
            "3:1: an entity must be the same in every build; move the property out of `#if`")
    }

    // MARK: Relationships

    @Test(arguments: [("Set<Player>", ""), ("[Player]", "@Attribute ")])
    func `a collection needs an inverse`(type: String, annotation: String) {
        let column = 14 + annotation.utf8.count
        expectError(
            "\(annotation)var players: \(type)",
            "2:\(column): `players` refers to several `Player`; write `@Relationship(inverse: \\.…)` before the property, with the name of the inverse",
            fixed: "@Relationship(inverse: \\.<#inverse#>) var players: \(type)")
    }

    @Test func `a relationship needs an inverse`() {
        let message =
            "`a` has no inverse; write `@Relationship(inverse: \\.…)` with the name of the inverse"
        expectError(
            "@Relationship var a: Team?", "2:1: \(message)",
            fixed: "@Relationship(inverse: \\.<#inverse#>) var a: Team?")
        expectError(
            "@Relationship(to: \"T\", deleteRule: .deny) var a: Team?", "2:1: \(message)",
            fixed:
                "@Relationship(to: \"T\", inverse: \\.<#inverse#>, deleteRule: .deny) var a: Team?")
    }

    @Test(arguments: ["\"squad\"", "nil", "squadName"])
    func `a relationship has the name of its property`(name: String) {
        let message =
            "a relationship has the name of its Swift property; remove the argument `\(name)`"
        expectError(
            "@Relationship(\(name), inverse: \\.a) var a: Team?", "2:15: \(message)",
            fixed: "@Relationship(inverse: \\.a) var a: Team?")
        expectErrors(
            "@Model class Team: ManagedObject {\n@Relationship(\(name), to: \"T\") var a: Team?\n}",
            [
                "2:1: `a` has no inverse; write `@Relationship(inverse: \\.…)` with the name of the inverse",
                "2:15: \(message)",
            ],
            fixed:
                "@Model class Team: ManagedObject {\n@Relationship(to: \"T\", inverse: \\.<#inverse#>) var a: Team?\n}"
        )
    }

    @Test(arguments: ["\\Player.team", "\\.team.captain", "path"])
    func `an inverse must be a single property`(path: String) {
        expectError(
            "@Relationship(inverse: \(path)) var a: Team?",
            "2:24: the inverse must be a single property after `\\.`, as in `@Relationship(inverse: \\.team)`"
        )
    }

    @Test func `a to-one relationship must be optional, and a collection must not be`() {
        expectError(
            "@Relationship(inverse: \\.a) var a: Team",
            "2:36: a to-one relationship must be optional; write `Team?`",
            fixed: "@Relationship(inverse: \\.a) var a: Team?")
        expectError(
            "@Relationship(inverse: \\.a) var a: Set<Team>?",
            "2:36: `Set<Team>?` cannot be the type of a relationship; write `Set<Team>`",
            fixed: "@Relationship(inverse: \\.a) var a: Set<Team>")
    }

    @Test(arguments: ["Int?", "String", "UInt8?", "Foundation.Date?", "(Team, Team)"])
    func `a relationship refers to objects`(type: String) {
        expectError(
            "@Relationship(inverse: \\.a) var a: \(type)",
            "2:36: `\(type)` cannot be the type of a relationship; write `X?`, `Set<X>` or `[X]` for a model class `X`"
        )
    }

    @Test func `a relationship can't have a default`() {
        expectError(
            "@Relationship(inverse: \\.a) var a: Team? = Team.first",
            "2:44: a relationship cannot have a default value; remove the initial value")
    }

    // MARK: Lists

    @Test(arguments: ["Index", "Unique"])
    func `lists must name stored properties of their class`(macro: String) {
        expectError(
            "#\(macro)<Team>([\\.wins, \\.win])\nvar wins: Int",
            "2:\(macro.utf8.count + 20): `Team` has no stored property `win` for `#\(macro)`")
        expectError(
            "#\(macro)<Team>([\\.team.wins])\nvar wins: Int",
            "2:\(macro.utf8.count + 10): `#\(macro)` requires properties of `Team`, such as `\\.name`"
        )
        expectError(
            "#\(macro)<Team>([\\.a])\n@Relationship(inverse: \\.b) var a: [Team]",
            "2:\(macro.utf8.count + 12): `a` is a to-many relationship; `#\(macro)` lists attributes and to-one relationships"
        )
        expectError(
            "#\(macro)<Team>(\\.wins)\nvar wins: Int",
            "2:\(macro.utf8.count + 9): `#\(macro)` requires a list in brackets, such as `[\\.name, \\.zone]`"
        )
        expectError(
            "#\(macro)<Player>([\\.wins])\nvar wins: Int",
            "2:\(macro.utf8.count + 3): `#\(macro)<Player>` is in the class `Team`; write `#\(macro)<Team>`",
            fixed: "#\(macro)<Team>([\\.wins])\nvar wins: Int")
    }

    // MARK: Places

    @Test(arguments: ["class Team: ManagedObject", "struct Team", "extension Team"])
    func `annotations have an effect only in models`(owner: String) {
        expectErrors(
            """
            \(owner) {
            #Index<Team>([\\.a])
            @Attribute(.unique) var a: Int
            @Relationship(inverse: \\.a) var b: Team?
            @Transient var c: Int
            }
            """,
            [
                ("2:1", "#Index"), ("3:1", "@Attribute"), ("4:1", "@Relationship"),
                ("5:1", "@Transient"),
            ]
            .map { "\($0.0): `\($0.1)` has an effect only in a class with `@Model`" })
    }

    @Test func `only actors can own a context`() {
        expectErrors(
            "@ContextActor class Worker {}", ["1:15: `@ContextActor` needs an actor; write `actor`"]
        )
    }

    @Test func `errors are in source order, and valid declarations are expanded`() {
        let expansion = Expansion(
            """
            @Model final class Team: ManagedObject {
                #Index<Team>([\\.b])
                let a: Int
                var c: Int
                var d: Set<Player>
            }
            """)
        #expect(expansion.errors.map { $0.prefix(4) } == ["2:21", "3:5:", "5:12"])
        #expect(expansion.properties == "Attribute(\"c\", .int, optional: false)")
    }
}

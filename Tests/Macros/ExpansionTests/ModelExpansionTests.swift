import SwiftSyntaxMacroExpansion
import TandemMacros
import Testing

/// The members that the macros add to a class or an actor.
struct ModelExpansionTests {
    @Test func `a class expands to the handwritten form`() {
        expectExpansion(
            """
            @Model
            final class Team: ManagedObject {
                #Index<Team>([\\.zone, \\.wins])
                #Unique<Team>([\\.name, \\.zone])
                @Attribute(.unique) var name: String
                @Attribute("zone_name", .indexed, renamedFrom: "region") var zone: String = "Europe"
                var wins: Int = 0
                @Relationship(inverse: \\.team, deleteRule: .cascade) var players: Set<Player>
                @Transient var isExpanded = false
                var title: String { name + zone }
            }
            """,
            """
            final class Team: ManagedObject {
                @Managed("name") var name: String
                @Managed(declaring: "zone_name") var zone: String = "Europe"
                @Managed(declaring: "wins")
                var wins: Int = 0
                @Managed("players") var players: Set<Player>
                var isExpanded = false
                var title: String { name + zone }

                static var entity: Entity {
                    Entity("Team", uniqueness: [["name"], ["name", "zone_name"]], indexes: [["zone_name"], ["zone_name", "wins"]]) {
                        Attribute("name", .string, optional: false)
                        Attribute("zone_name", .string, optional: false, default: .string("Europe"), renamedFrom: "region")
                        Attribute("wins", .int, optional: false, default: .int(0))
                        Relationship("players", to: "Player", inverse: "team", toMany: true, deleteRule: .cascade)
                    }
                }

                private static func checkInverses() {
                    let _: PartialKeyPath<Player> = \\.team
                }
            }

            extension Team: ManagedEntity {
            }
            """)
    }

    @Test func `a class without properties has an entity without a block`() {
        expectExpansion(
            "@Model class Empty: ManagedObject {}",
            """
            class Empty: ManagedObject {

                class var entity: Entity {
                    Entity("Empty")
                }
            }

            extension Empty: ManagedEntity {
            }
            """)
    }

    @Test func `a subclass names its parent, overrides the entity and adds no conformance`() {
        var inherited = specs
        inherited["Model"] = MacroSpec(type: ModelExpansion.self)
        expectExpansion(
            """
            @Model(parent: Book.self)
            final class Comic: Book {
                #Index<Comic>([\\.title, \\.colors])
                var colors: Int = 4
            }
            """,
            """
            final class Comic: Book {
                @Managed(declaring: "colors")
                var colors: Int = 4

                override class var entity: Entity {
                    Entity("Comic", parent: Book.entity.name, indexes: [["title", "colors"]]) {
                        Attribute("colors", .int, optional: false, default: .int(4))
                    }
                }
            }
            """, inherited)
    }

    @Test(arguments: [
        ("@Model(\"Club\") final class Team: ManagedObject {}", "Entity(\"Club\")"),
        (
            "@Model(\"Club\", renamedFrom: \"Team\") class Team: ManagedObject {}",
            "Entity(\"Club\", renamedFrom: \"Team\")"
        ),
        ("@Model(parent: nil) class Team: Base {}", "Entity(\"Team\")"),
        ("@Model class Team: Tandem.ManagedObject {}", "Entity(\"Team\")"),
        (
            "@Model(\"Special\", parent: Items.Item.self) class Extra: Items.Item {}",
            "Entity(\"Special\", parent: Items.Item.entity.name)"
        ),
    ])
    func `the arguments name the entity and its parent`(source: String, entity: String) {
        let expansion = Expansion(source)
        #expect(expansion.errors == [])
        #expect(expansion.entity == entity)
    }

    @Test(arguments: [
        ("public final class Team: ManagedObject {}", "public static var entity"),
        ("open class Team: ManagedObject {}", "open class var entity"),
        ("package class Team: ManagedObject {}", "package class var entity"),
        ("private final class Team: ManagedObject {}", "static var entity"),
    ])
    func `the entity has the access level of its class`(source: String, member: String) {
        let expansion = Expansion("@Model \(source)")
        #expect(expansion.errors == [])
        #expect(expansion.text.contains("\n    \(member): Entity {"), "\(expansion.text)")
    }

    @Test func `an actor gets a container and a context of its own`() {
        expectExpansion(
            "@ContextActor(mergesAutomatically: true) public actor Worker {}",
            """
            public actor Worker {

                public nonisolated let container: PersistentContainer

                private var madeContext: ManagedObjectContext?

                public var context: ManagedObjectContext {
                    if let madeContext {
                        return madeContext
                    }
                    let context = container.makeContext(name: "Worker", mergesAutomatically: true)
                    madeContext = context
                    return context
                }

                public init(container: PersistentContainer) {
                    self.container = container
                }
            }
            """)
    }

    @Test func `an actor with an initializer keeps it, and may name its context`() {
        let expansion = Expansion(
            """
            @ContextActor(name: "import") actor Worker {
                init(_ container: PersistentContainer) { self.container = container }
            }
            """)
        #expect(expansion.errors == [])
        #expect(expansion.text.contains("makeContext(name: \"import\")"))
        #expect(!expansion.text.contains("init(container:"))
    }
}

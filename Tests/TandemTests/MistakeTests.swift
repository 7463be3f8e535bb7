import FoundationEssentials
import TandemEmbedded
import TandemModel
import TandemQuery
import Testing

@testable import Tandem

private final class Chore: ManagedObject, ManagedEntity {
    class var entity: Entity {
        Entity("Chore", uniqueness: [["title"]]) {
            Attribute("title", .string, optional: false, min: 1)
            Attribute("priority", .int)
            Relationship("list", to: "ChoreList", inverse: "chores", optional: false)
        }
    }
    @Managed("title") var title: String
    @Managed("priority") var priority: Int
    @Managed("list") var list: ChoreList?
    var shout: String { title.uppercased() }
}

private final class ChoreList: ManagedObject, ManagedEntity {
    class var entity: Entity {
        Entity("ChoreList") {
            Attribute("name", .string)
            Relationship("chores", to: "Chore", inverse: "list", toMany: true)
        }
    }
    @Managed("name") var name: String
    @Managed("chores") var chores: Set<Chore>
}

private final class Unlisted: ManagedObject, ManagedEntity {
    class var entity: Entity { Entity("Unlisted") { Attribute("name", .string) } }
}

/// The messages for mistakes that app authors make: each says what is wrong, where, and what to do.
@MainActor @Suite struct MistakeTests {
    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        container = try PersistentContainer.inMemory(entities: [Chore.self, ChoreList.self])
        context = container.makeContext(name: "test")
    }

    /// Returns the text of the error that an operation throws.
    private func message(_ operation: () throws -> Void) -> String {
        do {
            try operation()
            return "no error"
        } catch {
            return "\(error)"
        }
    }

    @Test func `texts of predicates`() {
        func message(_ condition: TypedPredicate<Chore>) -> String {
            self.message { _ = try context.fetch(Chore.self, where: condition) }
        }
        #expect(
            message(.text("titel == 'a'"))
                == "unknownProperty: Chore has no property `titel`; the properties are list, priority, title"
        )
        #expect(
            message(.text("priority == 'abc'"))
                == #"invalidPredicate: "abc" cannot be compared with an int (in `priority == "abc"`)"#
        )
        #expect(
            self.message {
                _ = try context.fetch(ChoreList.self, where: .text("chores.title == 'a'"))
            }
                == #"invalidPredicate: `chores.title` refers to many objects; use ANY, ALL, NONE, SUBQUERY or an operator such as .@count (in `chores.title == "a"`)"#
        )
        #expect(
            message(.text("title == %@ OR title == %@", "a"))
                == "invalidPredicate: there is no argument for `%@`; the number of arguments is 1 (at offset 24)"
        )
        #expect(
            message(.text("title == %@", "a", "b"))
                == "invalidPredicate: the number of arguments is 2, but the format uses 1 (at offset 11)"
        )
    }

    @Test func `key paths and Swift expressions`() {
        #expect(
            message { _ = try context.fetch(Chore.self, where: \.isDeleted == true) }
                == "usage: the key path from Chore to Bool names no property: it must name properties declared with @Managed, but reads none"
        )
        #expect(
            message { _ = try context.fetch(Chore.self, where: \.shout == "A") }
                == "usage: the key path from Chore to String names no property: it must name properties declared with @Managed, but is computed from `title`"
        )
        #expect(
            message { _ = try context.fetch(Chore.self, where: #Predicate { $0.title.count > 3 }) }
                == "invalidPredicate: `count` in a #Predicate has no translation for this value; write the predicate as text or with operators on key paths"
        )
        #expect(
            message { _ = try context.fetch(Unlisted.self) }
                == "unknownEntity: there is no entity `Unlisted`; the entities are Chore, ChoreList; add Unlisted.self to the container's entities or model"
        )
        #expect(
            message { _ = try context.fetch(FetchRequest(entity: "Chorus")) }
                == "unknownEntity: there is no entity `Chorus`; the entities are Chore, ChoreList"
        )
    }

    @Test func `values that do not fit`() throws {
        let chore = try context.insert(Chore.self)
        #expect(
            message { try context.save() }
                == "validation: Chore/1.list: an object is required; set the relationship before saving; Chore/1.title: a value is required"
        )
        chore.title = ""
        chore.list = try context.insert(ChoreList.self)
        #expect(
            message { try context.save() }
                == "validation: Chore/1.title: the number of characters is below the minimum of 1")
    }

    @Test func `saves that others made impossible`() throws {
        let chore = try context.insert(Chore.self)
        chore.title = "tea"
        chore.list = try context.insert(ChoreList.self)
        try context.save()
        let twin = try context.insert(Chore.self)
        twin.title = "tea"
        twin.list = chore.list
        #expect(
            message { try context.save() }
                == "uniqueness: \(twin.id).title: \"tea\" is taken by \(chore.id); choose another value"
        )
        context.rollback()
        let other = container.makeContext(name: "other")
        let theirs = try #require(try other.fetch(Chore.self).first)
        theirs.priority = 2
        try other.save()
        chore.priority = 3
        #expect(
            message { try context.save() }
                == "conflict: others changed 1 object meanwhile: \(chore.id); refresh and save again, or choose a merge policy"
        )
        context.rollback()
        try context.reach(try #require(other.position))
        other.delete(theirs)
        try other.save()
        chore.priority = 4
        #expect(
            message { try context.save() }
                == "conflict: others deleted 1 object meanwhile: \(chore.id); drop the edits, or choose a merge policy"
        )
    }

    @Test func `a relationship without an inverse`() {
        let model = ManagedObjectModel {
            Entity("A") { Relationship("b", to: "B", inverse: "nothing") }
            Entity("B") { Attribute("x", .int) }
        }
        #expect(
            message {
                _ = try PersistentContainer.inMemory(model: model).viewContext
                    .fetch(FetchRequest(entity: "A"))
            }
                == "usage: the model cannot be used: A.b: its inverse `B.nothing` does not exist; declare it in B"
        )
    }
}

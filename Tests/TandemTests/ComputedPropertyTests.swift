import Foundation
import Tandem
import TandemModel
import TestSupport
import Testing

@testable import Tandem

private final class Citizen: ManagedObject, ManagedEntity {
    @Managed("first") var first: String
    @Managed("nick") var nick: String?
    @Managed("mark") var mark: Int
    @Managed("weight") var weight: Double
    @Managed("done") var done: Bool
    @Managed("archived") var archived: Bool
    @Managed("friend") var friend: Citizen?

    var shout: String { first.uppercased() }
    var quiet: String { first.lowercased() }
    var trimmed: String { first.trimmingCharacters(in: .whitespaces) }
    var title: String { nick ?? "none" }
    var size: Int { abs(mark) }
    var floor: Int { max(0, mark) }
    var load: Double { max(weight, 0) }
    var closed: Bool { done || archived }
    var shown: Bool { done && !archived }
    var open: Bool { !done }
    /// A second name of a stored property, without any computation.
    var name: String { first }

    static let entity = Entity("Citizen") {
        Attribute("first", .string, default: .string(""))
        Attribute("nick", .string)
        Attribute("mark", .int, default: .int(0))
        Attribute("weight", .double, default: .double(0))
        Attribute("done", .bool, default: .bool(false))
        Attribute("archived", .bool, default: .bool(false))
        Relationship("friend", to: "Citizen", inverse: "friends")
        Relationship("friends", to: "Citizen", inverse: "friend", toMany: true)
    }
}

/// Key paths through computed properties are refused, and are never mistaken for the properties
/// that these read.
@MainActor @Suite struct ComputedPropertyTests {
    @Test func `a key path through a computed property is refused`() throws {
        let context = try Fixture([Citizen.self]).container().makeContext(name: "test")
        func refuses(_ text: String, _ fetch: () throws -> [Citizen]) {
            let error = #expect(throws: TandemError.self, "\(text)") { try fetch() }
            #expect(error?.code == .usage, "\(text)")
        }
        refuses("uppercased") { try context.fetch(Citizen.self, where: \.shout == "ANN") }
        refuses("lowercased") { try context.fetch(Citizen.self, where: \.quiet == "ann") }
        refuses("trimmed") { try context.fetch(Citizen.self, where: \.trimmed == "ann") }
        refuses("??") { try context.fetch(Citizen.self, where: \.title == "none") }
        refuses("abs") { try context.fetch(Citizen.self, where: \.size == 5) }
        refuses("max") { try context.fetch(Citizen.self, where: \.floor == 0) }
        refuses("max of doubles") { try context.fetch(Citizen.self, where: \.load == 0) }
        refuses("or") { try context.fetch(Citizen.self, where: \.closed == true) }
        refuses("and") { try context.fetch(Citizen.self, where: \.shown == true) }
        refuses("not") { try context.fetch(Citizen.self, where: \.open == true) }
        refuses("a macro's") { try context.fetch(Citizen.self, where: #Predicate { $0.closed }) }
        refuses("a friend's") { try context.fetch(Citizen.self, where: \.friend?.size == 5) }
    }

    @Test func `a key path through properties, or another name of one, is followed`() throws {
        let fixture = try Fixture([Citizen.self])
        let context = fixture.container().makeContext(name: "test")
        let ann = try context.insert(Citizen.self)
        (ann.first, ann.mark, ann.archived) = ("ann", -5, true)
        let bob = try context.insert(Citizen.self)
        (bob.first, bob.friend) = ("bob", ann)
        try context.save()
        #expect(try context.fetch(Citizen.self, where: \.first == "ann") == [ann])
        #expect(try context.fetch(Citizen.self, where: \.name == "ann") == [ann])
        #expect(try context.fetch(Citizen.self, where: \.mark == -5) == [ann])
        #expect(try context.fetch(Citizen.self, where: \.archived == true) == [ann])
        #expect(try context.fetch(Citizen.self, where: \.friend?.first == "ann") == [bob])
        #expect(try context.fetch(Citizen.self, where: \.nick == nil).count == 2)
    }
}

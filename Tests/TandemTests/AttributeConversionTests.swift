import FoundationEssentials
import TandemEmbedded
import TandemModel
import Testing

@testable import Tandem

/// Enums, option sets and Codable values as attributes, each declared in one line.
@MainActor @Suite struct AttributeConversionTests {
    enum Level: Int, CaseIterable, AttributeConvertible { case low = 3, high = 7 }
    enum Colour: String, Codable, CaseIterable, AttributeConvertible { case red, green }
    struct Flags: OptionSet, AttributeConvertible {
        let rawValue: Int
        static let old = Flags(rawValue: 1)
        static let rare = Flags(rawValue: 2)
    }
    struct Address: CodableAttribute, Equatable {
        var town = ""
        var lines: [String] = []
        static let zero = Address()
    }

    final class Item: ManagedObject, ManagedEntity {
        static var entity: Entity {
            Entity("Item") {
                Attribute("level", .int)
                Attribute("colour", .string)
                Attribute("flags", .int)
                Attribute("home", .string)
            }
        }
        @Managed("level") var level: Level
        @Managed("colour") var colour: Colour?
        @Managed("flags") var flags: Flags
        @Managed("home") var home: Address?
        @Managed("home") var address: Address
        @Managed("home") var text: String?
    }

    struct Line: ObjectValue {
        var level: Level
        var home: Address?
        init(_ item: RowReader<Item>) { (level, home) = (item.level, item.home) }
    }

    private let container: PersistentContainer
    private let context: ManagedObjectContext

    init() throws {
        container = try PersistentContainer.inMemory(entities: [Item.self])
        context = container.makeContext(name: "test")
    }

    @Test func `values are read back by another context, and can be searched`() throws {
        let item = try context.insert(Item.self)
        #expect(item.level == .low && item.flags.isEmpty && item.address == .zero)
        #expect(item.colour == nil && item.home == nil)
        item.level = .high
        item.colour = .green
        item.flags = [.old, .rare]
        item.home = Address(town: "Lomé", lines: ["a/b"])
        #expect(item.text == #"{"lines":["a/b"],"town":"Lomé"}"#)
        try context.save()
        let other = container.makeContext(name: "other")
        let seen = try #require(try other.fetch(Item.self, where: \.level == .high).first)
        #expect(seen.level == .high && seen.colour == .green && seen.flags == [.old, .rare])
        #expect(seen.home == item.home && seen.address == item.home)
        #expect(try other.fetch(Item.self, where: \.colour == .green) == [seen])
        #expect(try other.fetch(Item.self, where: \.home == item.home) == [seen])
        #expect(try other.fetch(Item.self, where: \.flags == .old).isEmpty)
        let line = try #require(try other.fetchValues(Line.self).first)
        #expect(line.level == .high && line.home == item.home)
    }

    @Test func `a text that can't be decoded is reported, and never saved`() throws {
        let item = try context.insert(Item.self)
        item.text = "{"
        try context.save()
        let other = container.makeContext(name: "other")
        let seen = try #require(try other.fetch(Item.self).first)
        #expect(seen.home == nil && other.faultFailure == nil)
        #expect(seen.address == .zero && other.faultFailure?.code == .unreadable)
        seen.level = .high
        #expect {
            try other.save()
        } throws: {
            ($0 as? TandemError)?.code == .unreadable
        }
    }
}

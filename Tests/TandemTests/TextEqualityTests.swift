import FoundationEssentials
import TandemEmbedded
import TandemModel
import Testing

@testable import Tandem

/// Texts are the same if they have the same code points: in predicates, uniqueness and order alike.
@MainActor @Suite struct TextEqualityTests {
    final class Word: ManagedObject, ManagedEntity {
        static var entity: Entity {
            Entity("Word", uniqueness: [["text"]]) {
                Attribute("text", .string, optional: false)
                Attribute("folded", .string, derived: .folded("text"))
            }
        }
        @Managed("text") var text: String
    }

    private static let composed = "caf\u{e9}"
    private static let decomposed = "cafe\u{301}"

    private let context: ManagedObjectContext

    init() throws {
        context = try PersistentContainer.inMemory(entities: [Word.self]).makeContext(name: "test")
        for text in [Self.composed, Self.decomposed, "cafz"] {
            try context.insert(Word.self).text = text
        }
        // Both are kept, although Swift's == takes them for equal.
        try context.save()
    }

    private func scalars(_ words: [Word]) -> [[UInt32]] {
        words.map { $0.text.unicodeScalars.map(\.value) }
    }

    private func scalars(_ texts: String...) -> [[UInt32]] {
        texts.map { $0.unicodeScalars.map(\.value) }
    }

    @Test func `predicates of every form compare code points`() throws {
        let (composed, decomposed) = (Self.composed, Self.decomposed)
        #expect(composed == decomposed)
        for text in [composed, decomposed] {
            let expected = scalars(text)
            #expect(scalars(try context.fetch(Word.self, where: \.text == text)) == expected)
            #expect(
                scalars(try context.fetch(Word.self, where: .text("text == %@", text))) == expected)
            #expect(
                scalars(try context.fetch(Word.self, where: #Predicate { $0.text == text }))
                    == expected)
        }
        #expect(try context.count(for: FetchRequest(where: (\Word.text).beginsWith("cafe"))) == 1)
        // Without regard to diacritics all of them are found.
        let folded = try context.fetch(Word.self, where: .text("text ==[cd] 'CAFE'"))
        #expect(folded.count == 2)
        #expect(
            try context.count(for: FetchRequest(Word.self, where: .text("folded == 'cafe'"))) == 2)
    }

    @Test func `uniqueness and order compare code points`() throws {
        let sorted = try context.fetch(Word.self, sort: [.ascending(\.text)])
        #expect(scalars(sorted) == scalars(Self.decomposed, "cafz", Self.composed))
        try context.insert(Word.self).text = Self.composed
        #expect {
            try context.save()
        } throws: {
            ($0 as? TandemError)?.code == .uniqueness
        }
        context.rollback()
    }

    @Test func `unsaved edits and merged saves are ordered alike`() throws {
        let list = try FetchedResultsController(
            fetchRequest: FetchRequest(Word.self, sort: [.ascending(\.text)]), context: context)
        try list.performFetch()
        try context.insert(Word.self).text = "cafe\u{302}"
        context.processPendingChanges()
        let expected = scalars(Self.decomposed, "cafe\u{302}", "cafz", Self.composed)
        #expect(scalars(list.fetchedObjects) == expected)
        try context.save()
        #expect(scalars(list.fetchedObjects) == expected)
        #expect(scalars(try context.fetch(Word.self, sort: [.ascending(\.text)])) == expected)
    }
}

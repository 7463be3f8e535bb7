import FoundationEssentials
import TandemModel

@testable import Tandem

/// A class with properties of each kind, some declared twice with different types.
class Book: ManagedObject, ManagedEntity {
    @Managed("title") var title: String
    @Managed("pages") var pages: Int
    @Managed("shelf") var shelf: Shelf?
    @Managed("sequel") var sequel: Book?
    @Managed("remark") var remark: String?
    @Managed("remark") var anyRemark: String
    @Managed("grade") var grade: Rating
    @Managed("grade") var anyGrade: Rating?
    @Managed("site") var site: URL?
    var isLong: Bool { pages > 500 }

    class var entity: Entity {
        Entity("Book") {
            Attribute("title", .string, default: .string(""))
            Attribute("pages", .int, default: .int(0))
            Attribute("remark", .string)
            Attribute("grade", .string)
            Attribute("site", .url)
            Relationship("shelf", to: "Shelf", inverse: "books")
            Relationship("sequel", to: "Book", inverse: "prequel")
            Relationship("prequel", to: "Book", inverse: "sequel")
        }
    }
}

/// An app's own type, stored as a text.
enum Rating: String, CaseIterable, AttributeConvertible { case none, good, best }

final class Comic: Book {
    @Managed("colors") var colors: Int

    override class var entity: Entity {
        Entity("Comic", parent: "Book") { Attribute("colors", .int, default: .int(4)) }
    }
}

final class Shelf: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("books") var books: Set<Book>
    @Managed("labels") var labels: [Label]

    static let entity = Entity("Shelf") {
        Attribute("name", .string, default: .string(""))
        Relationship("books", to: "Book", inverse: "shelf", toMany: true)
        Relationship("labels", to: "Label", inverse: "shelf", toMany: true, ordered: true)
    }
}

final class Label: ManagedObject, ManagedEntity {
    @Managed("text") var text: String
    @Managed("shelf") var shelf: Shelf?

    static let entity = Entity("Label") {
        Attribute("text", .string, default: .string(""))
        Relationship("shelf", to: "Shelf", inverse: "labels")
    }
}

/// A class that may read other rows while its object is initialised.
final class Root: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    // Guarded by the main actor, where it is set and called.
    nonisolated(unsafe) static var look: (ManagedObjectContext) -> Void = { _ in }

    static let entity = Entity("Root") { Attribute("name", .string, default: .string("")) }

    required init(binding: ObjectBinding) {
        super.init(binding: binding)
        if let managedObjectContext { Self.look(managedObjectContext) }
    }
}

/// All visible values of a book.
struct BookLine: ObjectValue, Equatable {
    let id: ObjectID
    let version: UInt64
    let title: String
    let pages: Int
    let remarks: [String?]
    let grades: [Rating?]
    let site: URL?
    let colors: Int?
    let shelf: ObjectID?
    let shelfName: String?
    let neighbours: [ObjectID]
    let labels: [String]
    /// The values of related objects.
    let sequel: [String?]

    init(_ row: RowReader<Book>) {
        (id, title, pages) = (row.id, row.title, row.pages)
        (remarks, grades) = ([row.remark, row.anyRemark], [row.grade, row.anyGrade])
        (site, colors) = (row.site, row.cast(to: Comic.self)?.colors)
        (shelf, shelfName) = (row.shelf?.id, row.shelf?.name)
        neighbours = (row.shelf?.books ?? []).map(\.id)
        labels = (row.shelf?.labels ?? []).map { $0.text }
        sequel = [
            row.sequel?.title, row.sequel?.remark, row.sequel?.grade.rawValue,
            row.sequel?.site?.absoluteString, row.sequel?.shelf?.name,
        ]
        // A fault has none, and is loaded now.
        version = row.version
    }

    /// Creates the same line from the object's properties.
    init(of book: Book) {
        (id, title, pages) = (book.id, book.title, book.pages)
        (remarks, grades) = ([book.remark, book.anyRemark], [book.grade, book.anyGrade])
        (site, colors) = (book.site, (book as? Comic)?.colors)
        (shelf, shelfName) = (book.shelf?.id, book.shelf?.name)
        neighbours = (book.shelf?.orderedObjects("books") ?? []).map(\.id)
        labels = (book.shelf?.labels ?? []).map { $0.text }
        let sequel = book.sequel
        self.sequel = [
            sequel?.title, sequel?.remark, sequel?.grade.rawValue, sequel?.site?.absoluteString,
            sequel?.shelf?.name,
        ]
        version = book.version
    }
}

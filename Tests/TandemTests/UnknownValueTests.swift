import FoundationEssentials
import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// The levels that this version of the app knows.
private enum Level: Int, CaseIterable, AttributeConvertible { case low, high, most }

private final class Leveled: ManagedObject, ManagedEntity {
    @Managed("name") var name: String
    @Managed("level") var level: Level
    @Managed("limit") var limit: Level?
    @Managed("bound") var bound: Level
    @Managed("rank") var rank: Level
    @Managed("site") var site: URL?

    static let entity = Entity("Leveled") {
        Attribute("name", .string, default: .string(""))
        Attribute("level", .int, default: .int(1))
        Attribute("limit", .int)
        Attribute("bound", .int, default: .int(2))
        Attribute("rank", .int)
        Attribute("site", .url)
    }
}

/// A row of a list.
private struct LeveledRow: ObjectValue {
    let level: Level

    init(_ leveled: RowReader<Leveled>) { level = leveled.level }
}

/// Stored values that a property's type can't represent.
@MainActor @Suite struct UnknownValueTests {
    private let fixture: Fixture
    private let other: ManagedObject
    private let writer: ManagedObjectContext
    private let context: ManagedObjectContext

    init() throws {
        fixture = try Fixture([Leveled.self])
        writer = fixture.container("writer").makeContext(name: "writer")
        other = try writer.insert("Leveled")
        for name in ["level", "limit", "bound"] { other[name] = .int(7) }
        other["site"] = .url("")
        try writer.save()
        context = fixture.container("reader").makeContext(name: "reader")
    }

    private func object() throws -> Leveled {
        try #require(try context.existingObject(with: other.id) as? Leveled)
    }

    private func refusal(in context: ManagedObjectContext? = nil) {
        let error = #expect(throws: TandemError.self) { try (context ?? self.context).save() }
        #expect(error?.code == .unreadable)
        let message = error?.message ?? ""
        #expect(
            message.contains("\(other.id).level is 7, which is not a value of Level"), "\(message)")
    }

    @Test func `an optional property returns nil`() throws {
        let object = try object()
        #expect(object.limit == nil && object.site == nil && context.faultFailure == nil)
        object.name = "edited"
        try context.save()
    }

    @Test func `a property without a default returns its type's zero, and the edit is refused`()
        throws
    {
        other["rank"] = .int(7)
        try writer.save()
        let object = try object()
        #expect(object.rank == .low && context.faultFailure?.message.contains(".rank is 7") == true)
        object.rank = object.rank == .low ? .high : .most
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .unreadable && error?.message.contains(".rank") == true)
    }

    @Test func `any other property returns its default, and the context has an error`() throws {
        let object = try object()
        #expect(object.level == .high)
        #expect(context.faultFailure?.message.contains("\(other.id).level is 7") == true)
        #expect(object.bound == .most)
        #expect(object["level"] == .int(7) && object.snapshot["level"] == .int(7))
        #expect(throws: TandemError.self) { try context.fetch(Leveled.self) }
        // The error is reported once per property.
        _ = (object.level, object.bound)
        #expect(try context.fetch(Leveled.self) == [object])
    }

    @Test func `the debug log names the value`() throws {
        let lines = OperationLogTests.Lines()
        let object = try object()
        context.log = OperationLog("fault") { lines.add($0) }
        _ = (object.level, object.level)
        let written = lines.drain()
        #expect(written.count == 1 && written.first?.contains("level is 7") == true, "\(written)")
    }

    @Test func `no save sends edits of an object with a failed read`() throws {
        let object = try object()
        _ = object.level
        object.name = "edited"
        refusal()
        // Reading other properties makes no difference.
        #expect(object.name == "edited" && object.level == .high)
        refusal()
        context.refresh(object, mergeChanges: true)
        refusal()
        context.rollback()
        object.level = .low
        try context.save()
        #expect(object.level == .low)
        object.name = "again"
        try context.save()
    }

    @Test
    func `a value that others save ends the failure, and drops edits that may depend on the read`()
        throws
    {
        let object = try object()
        object.level = object.level == .high ? .low : .high
        object.name = "edited"
        #expect(throws: TandemError.self) { try context.connect() }
        other["level"] = .int(2)
        try context.reach(try writer.save())
        let error = #expect(throws: TandemError.self) { try context.save() }
        #expect(error?.code == .unreadable && error?.message.contains("dropped") == true)
        #expect(object.level == .most)
        try context.save()
        #expect(object.level == .most && object.name == "edited")
    }

    @Test func `children refuse the save too`() throws {
        let child = context.makeChild(name: "child")
        let object = try #require(try child.existingObject(with: other.id) as? Leveled)
        object.level = object.level == .high ? .low : .high
        refusal(in: child)
        child.rollback()
        try child.save()
    }

    @Test func `fetches of values throw the error`() throws {
        let known = try writer.insert("Leveled")
        known["level"] = .int(0)
        try writer.save()
        for _ in 0..<2 {
            let error = #expect(throws: TandemError.self) {
                try context.fetchValues(LeveledRow.self)
            }
            #expect(error?.code == .unreadable && error?.message.contains("level is 7") == true)
        }
        let same = try #require(try context.existingObject(with: known.id) as? Leveled)
        #expect(!same.record.isUnreadable && same.level == .low)
        same.name = "edited"
        try context.save()
    }
}

import FoundationEssentials
import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// A note as in the first version of an app.
private final class OldNote: ManagedObject, ManagedEntity {
    @Managed("done") var done: Bool
    @Managed("title") var title: String

    static let entity = Entity("Note") {
        Attribute("done", .bool)
        Attribute("title", .string)
    }
}

/// The same note with another attribute.
private final class NewNote: ManagedObject, ManagedEntity {
    @Managed("added") var added: String
    @Managed("done") var done: Bool
    @Managed("title") var title: String

    static let entity = Entity("Note") {
        Attribute("done", .bool)
        Attribute("added", .string, default: .string("-"))
        Attribute("title", .string)
    }
}

/// The note with a renamed attribute, and without `done`.
private final class LaterNote: ManagedObject, ManagedEntity {
    @Managed("added") var added: String
    @Managed("heading") var heading: String
    @Managed("size") var size: Double

    static let entity = Entity("Memo", renamedFrom: "Note") {
        Attribute("added", .string, default: .string("-"))
        Attribute("heading", .string, renamedFrom: "title")
        Attribute("size", .double)
    }
}

/// Values in the history before and after model changes.
@MainActor @Suite struct HistoryModelTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture([]) }

    private func container(_ types: [any ManagedEntity.Type]) -> PersistentContainer {
        PersistentContainer(entities: types, transport: fixture.transport)
    }

    @Test func `rows of two versions are decoded under the model of their positions`()
        async throws
    {
        let first = container([OldNote.self])
        let context = first.makeContext(name: "old")
        let note = try context.insert(OldNote.self)
        (note.title, note.done) = ("before", true)
        try await context.save()
        let second = container([NewNote.self])
        let newer = second.makeContext(name: "new")
        try newer.insert(NewNote.self).title = "after"
        let end = try await newer.save()
        // The old app knows neither the new attribute nor the slots of the new rows.
        let old = try await read(first.changes(of: OldNote.self, after: end.at(0)))
        #expect(old.map { $0.after?[\.title] } == ["before", "after"])
        #expect(old.map { $0.after?[\.done] } == [true, nil])
        let new = try await read(second.changes(of: NewNote.self, after: end.at(0)))
        #expect(new.map { $0.after?[\.title] } == ["before", "after"])
        #expect(new.map { $0.after?[\.added] } == [nil, "-"])
        #expect(new.map { $0.after?["added"] } == [nil, .string("-")])
        #expect(new.map { $0.after?["done"] } == [.bool(true), .null])
        // An update of an old row is a row of the new model.
        let same = try #require(
            try await newer.fetch(NewNote.self, where: \.title == "before").first)
        same.title = "changed"
        try await newer.save()
        let last = try #require(try await read(first.changes(after: end)).first)
        #expect(last.before?["title"] == .string("before"))
        #expect(last.after?["title"] == .string("changed") && last.changed == ["title"])
    }

    @Test func `values have today's names, converted types, and removed properties`()
        async throws
    {
        let first = container([OldNote.self])
        let context = first.makeContext(name: "old")
        let note = try context.insert(OldNote.self)
        (note.title, note.done) = ("a", true)
        let start = try await context.save()
        note.title = "b"
        try await context.save()
        let admin = PersistentContainer(author: "admin", transport: fixture.transport)
        try await admin.migrate(
            to: ManagedObjectModel {
                Entity("Note") {
                    Attribute("added", .string, default: .string("-"))
                    Attribute("size", .int, default: .int(7))
                    Attribute("title", .string)
                }
            })
        let plain = admin.makeContext(name: "plain")
        try plain.insert("Note")["title"] = .string("c")
        try await plain.save()
        try await admin.migrate(to: ManagedObjectModel(entities: [LaterNote.entity]))
        let last = container([LaterNote.self])
        let later = last.makeContext(name: "later")
        try later.insert(LaterNote.self).heading = "d"
        try await later.save()
        let all = try await read(last.changes(of: LaterNote.self, after: start.at(0)))
        #expect(all.map(\.id.entity) == ["Memo", "Memo", "Memo", "Memo"])
        #expect(all.map { $0.after?[\.heading] } == ["a", "b", "c", "d"])
        #expect(all[1].before?[\.heading] == "a" && all[1].changed == ["heading"])
        #expect(all[1].changes(\.heading) && all[1].after?["title"] == nil)
        #expect(all.map { $0.after?["done"] } == [.bool(true), .bool(true), nil, nil])
        #expect(all.map { $0.after?[\.added] } == [nil, nil, "-", "-"])
        #expect(all.map { $0.after?[\.size] } == [nil, nil, 7, nil])
        #expect(all[2].after?["size"] == .int(7))
        // The filter's names are today's as well.
        let filter = HistoryFilter(entities: ["Memo"], properties: ["Memo": ["heading"]])
        let named = try await read(last.changes(filter, after: start))
        #expect(named.map { $0.after?["heading"] } == [.string("b"), .string("c"), .string("d")])
    }

    @Test func `a following reader adopts a model that is installed while it waits`()
        async throws
    {
        let first = container([OldNote.self])
        let context = first.makeContext(name: "old")
        try context.insert(OldNote.self).title = "a"
        let end = try await context.save()
        // The reader declares nothing, so that no rename ends its connection.
        let reader = PersistentContainer(transport: fixture.transport)
        var changes = reader.changes(after: end.at(0), follows: true).makeAsyncIterator()
        #expect(try await changes.next()?.after?["title"] == .string("a"))
        let admin = PersistentContainer(author: "admin", transport: fixture.transport)
        try await admin.migrate(to: ManagedObjectModel(entities: [LaterNote.entity]))
        let plain = admin.makeContext(name: "plain")
        try plain.insert("Memo")["heading"] = .string("b")
        try await plain.save()
        let next = try #require(try await changes.next())
        #expect(next.after?["heading"] == .string("b") && next.id.entity == "Memo")
        // A filter is translated for each page, so that it survives the removal of a slot.
        let filter = HistoryFilter(properties: ["Memo": ["heading"]])
        changes = reader.changes(filter, after: next.position, follows: true).makeAsyncIterator()
        try plain.insert("Memo")["heading"] = .string("c")
        try await plain.save()
        #expect(try await changes.next()?.after?["heading"] == .string("c"))
        try await admin.migrate(
            to: ManagedObjectModel { Entity("Memo") { Attribute("heading", .string) } })
        let last = admin.makeContext(name: "last")
        try last.insert("Memo")["heading"] = .string("d")
        try await last.save()
        #expect(try await changes.next()?.after?["heading"] == .string("d"))
    }

    @Test func `law 7: random evolutions never change the values of the past`() async throws {
        var random = SplitMix64(seed: seed)
        let admin = PersistentContainer(author: "admin", transport: fixture.transport)
        var world = EvolvingEntity()
        try await admin.install(world.model)
        for step in 0..<60 {
            if Int.random(in: 0..<4, using: &random) == 0 {
                world.evolve(&random)
                try await admin.migrate(to: world.model)
            }
            try await world.edit(admin, &random)
            guard step % 12 == 11 else { continue }
            let all = try await read(admin.changes(after: try admin.end().at(0)))
            try #require(all.count == world.saved.count, "seed \(seed), step \(step)")
            for (change, row) in zip(all, world.saved) {
                let after = world.now(row.after), before = world.now(row.before)
                for (name, value) in after {
                    #expect(
                        change.after?[name] == value, "seed \(seed), step \(step), \(name)")
                }
                for (name, value) in before {
                    #expect(
                        change.before?[name] == value, "seed \(seed), step \(step), \(name)")
                }
            }
        }
    }
}

/// An entity whose integer attributes are added, renamed and removed, and its saved values.
private struct EvolvingEntity {
    /// The names by the identity of the property; nil once it is removed.
    private var names: [Int: String] = [0: "p0"]
    /// The names before the last step, for its hints.
    private var former: [Int: String] = [:]
    private var nextName = 1
    private var objects: [ObjectID] = []
    private var values: [ObjectID: [Int: PropertyValue]] = [:]
    /// The values before and after each save, by the identity of the property.
    private(set) var saved: [(before: [Int: PropertyValue], after: [Int: PropertyValue])] = []

    var model: ManagedObjectModel {
        let names = names, former = former
        return ManagedObjectModel {
            Entity("Thing") {
                for (key, name) in names.sorted(by: { $0.key < $1.key }) {
                    Attribute(
                        name, .int,
                        renamedFrom: former[key].flatMap { $0 == name ? nil : $0 })
                }
            }
        }
    }

    /// Returns values under today's names, without removed properties.
    func now(_ values: [Int: PropertyValue]) -> [String: PropertyValue] {
        values.reduce(into: [:]) { found, item in
            if let name = names[item.key] { found[name] = item.value }
        }
    }

    /// Adds, renames or removes an attribute.
    mutating func evolve(_ random: inout SplitMix64) {
        former = names
        // Names sort differently each time, so that slots move.
        let name = "\(["a", "m", "z"].randomElement(using: &random) ?? "a")\(nextName)"
        defer { nextName += 1 }
        let known = names.keys.sorted()
        switch known.count == 1 ? 0 : Int.random(in: 0..<3, using: &random) {
        case 0:
            names[nextName] = name
            for object in objects { values[object]?[nextName] = .null }
        case 1: if let key = known.randomElement(using: &random) { names[key] = name }
        default:
            guard let key = known.randomElement(using: &random) else { return }
            names[key] = nil
            for object in objects { values[object]?[key] = nil }
        }
    }

    /// Inserts or updates an object with a random value.
    @MainActor
    mutating func edit(
        _ container: PersistentContainer, _ random: inout SplitMix64
    ) async throws {
        let context = container.makeContext(name: "editor")
        let keys = names.keys.sorted()
        guard let key = keys.randomElement(using: &random), let name = names[key] else { return }
        let value = PropertyValue.int(Int64.random(in: 1..<1_000_000, using: &random))
        let object: ManagedObject
        let before: [Int: PropertyValue]
        if objects.isEmpty || Bool.random(using: &random) {
            object = try context.insert("Thing")
            objects.append(object.id)
            values[object.id] = Dictionary(uniqueKeysWithValues: keys.map { ($0, .null) })
            before = [:]
        } else {
            let id = objects[Int.random(in: objects.indices, using: &random)]
            object = try await context.existingObject(with: id)
            before = values[id] ?? [:]
        }
        object[name] = value
        values[object.id]?[key] = value
        saved.append((before, values[object.id] ?? [:]))
        try await context.save()
    }
}

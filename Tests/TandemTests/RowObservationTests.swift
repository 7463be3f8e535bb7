import Observation
import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import Tandem

/// Views of lists under `withObservationTracking` are notified of changes of objects without
/// holding them.
@MainActor @Suite struct RowObservationTests {
    typealias Probe = ObservationTests.Probe

    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext
    let list = FetchedResults<Content>()
    let home: Bucket
    let contents: [Content]

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
        home = try writer.insert(Bucket.self)
        home.name = "home"
        contents = try (1...3).map { [writer, home] size in
            let content = try writer.insert(Content.self)
            (content.name, content.size, content.bucket) = ("\(size)", size, home)
            return content
        }
        try writer.save()
        list.request = ResultsRequest(sort: ["size"])
        list.source = .store(reader)
        try #require(list.error == nil && list.count == 3)
    }

    /// Saves what the writer edited, and merges it in the reader.
    private func save() throws { try reader.reach(try writer.save()) }

    /// Returns whether an observation of `read` that retains no object fires for another context's
    /// change.
    private func probe(_ read: () -> Void, _ change: () throws -> Void) throws -> Bool {
        let probe = Probe(read)
        #expect(reader.registeredObjects.isEmpty && !probe.hasFired)
        try change()
        try save()
        return probe.hasFired
    }

    @Test func `a value of a row`() throws {
        let hears = try probe {
            for content in list { _ = content.name }
        } _: {
            contents[1].name = "other"
        }
        #expect(hears && list[1].name == "other")
        let hearsInSection = try probe {
            for section in list.sections { for content in section { _ = content.name } }
        } _: {
            contents[2].name = "another"
        }
        #expect(hearsInSection)
        #expect(try !probe({ _ = list[0].size }, { contents[0].name = "unread" }))
    }

    @Test func `a value of a row's related object`() throws {
        let read = { for content in list { _ = content.bucket?.name } }
        #expect(try probe(read) { home.name = "elsewhere" })
        let new = try writer.insert(Bucket.self)
        new.name = "new"
        try save()
        #expect(try probe(read) { contents[0].bucket = new })
        #expect(list.map { $0.bucket?.name } == ["new", "elsewhere", "elsewhere"])
        #expect(try probe(read) { new.name = "newer" })
    }

    @Test func `members, their count and their values`() throws {
        let buckets = FetchedResults<Bucket>(
            source: .store(reader), request: ResultsRequest(sort: ["name"]))
        #expect(try probe({ _ = buckets[0].contents.map(\.name) }, { contents[2].name = "x" }))
        let count = { _ = buckets[0].contents.count }
        #expect(try !probe(count) { contents[2].name = "y" })
        #expect(try probe(count) { contents[2].bucket = nil })
        #expect(try probe(count) { try writer.insert(Content.self).bucket = home })
        #expect(try probe(count) { writer.delete(contents[0]) })
        #expect(buckets[0].contents.count == 2)
    }

    @Test func `the number of rows`() throws {
        #expect(try probe({ _ = list.count }, { _ = try writer.insert(Content.self) }))
        #expect(try probe({ _ = list.sections.count }, { writer.delete(contents[0]) }))
    }

    @Test func `values that a list makes of objects`() throws {
        let rows = FetchedResults<QueryTests.Row>(
            source: .store(reader), request: ResultsRequest(sort: ["size"]))
        #expect(try probe({ _ = rows.map(\.name) }, { contents[0].name = "other" }))
        #expect(rows.map(\.name) == ["other", "2", "3"])
    }

    @Test func `edits of the same context, and their rollback`() throws {
        let read = { for content in list { _ = content.name } }
        let edit = Probe(read)
        let id = try #require(list.controller?.fetchedObjectIDs.first)
        try reader.existingObject(with: id)["name"] = .string("mine")
        #expect(edit.hasFired && list[0].name == "mine")
        let rollback = Probe(read)
        reader.rollback()
        #expect(rollback.hasFired && list[0].name == "1")
        let state = Probe { _ = list[0].hasChanges }
        try reader.existingObject(with: id)["size"] = .int(0)
        #expect(state.hasFired)
    }

    @Test func `values that a child shows, and its edits`() throws {
        let child = reader.makeChild(name: "child")
        let id = try #require(list.controller?.fetchedObjectIDs.first)
        let read = { _ = (try? child.object(with: id))?["name"] }
        let theirs = Probe(read)
        contents[0].name = "theirs"
        try save()
        #expect(theirs.hasFired && child.registeredObjects.isEmpty)
        let edit = Probe(read)
        try reader.existingObject(with: id)["name"] = .string("mine")
        #expect(edit.hasFired)
        let own = Probe { _ = list[0].name }
        try child.object(with: id)["name"] = .string("child's")
        #expect(!own.hasFired)
        try child.save()
        #expect(own.hasFired && list[0].name == "child's")
    }

    @Test func `saves that history no longer contains`() throws {
        let probe = Probe { for content in list { _ = content.name } }
        try fixture.restart(raisesEpoch: true)
        try writer.reach(try reader.resume())
        #expect(probe.hasFired)
        #expect(try self.probe({ _ = list[0].name }, { contents[0].name = "after" }))
    }

    @Test func `values read in one body while a merge arrives`() async throws {
        let buckets = FetchedResults<Bucket>(
            source: .store(reader), request: ResultsRequest(sort: ["name"]))
        contents[0].name = "other"
        try await writer.save()
        // Loading the members merges a change of the value that was read first.
        let probe = Probe { _ = (list[0].name, buckets[0].contents.count) }
        while !probe.hasFired { await Task.yield() }
        #expect(list[0].name == "other")
    }

    // MARK: Memory

    @Observable final class ManagedObjectModel: Sendable {
        private let value = Locked(0)
        var number: Int {
            access(keyPath: \.number)
            return value.withLock { $0 }
        }
        func change() {
            withMutation(keyPath: \.number) { value.withLock { $0 += 1 } }
        }
    }

    @Test func `observing retains no objects, and releases entries that fired or ended`()
        async throws
    {
        let model = ManagedObjectModel()
        let others = Probe { _ = (model.number, list[0].name) }
        let probes = (1...2).map { at in Probe { _ = (list[at].name, list[at].size) } }
        #expect(reader.registeredObjects.isEmpty && reader.reporter.observed.numbers.count == 3)
        // Changing the model's number on another thread ends the observation.
        await Task.detached(executorPreference: ThreadPerJob()) { model.change() }.value
        #expect(others.hasFired && reader.reporter.observed.numbers.count == 2)
        contents[1].name = "other"
        try await reader.reach(writer.save())
        #expect(
            probes.map(\.hasFired) == [true, false] && reader.reporter.observed.numbers.count == 1)
        _ = list[0].name
        #expect(reader.reporter.observed.numbers.count == 1)
    }

    @Test func `a list that is scrolled through while observed retains no objects`() throws {
        for size in 10..<2_010 { try writer.insert(Content.self).size = size }
        try writer.save()
        var limits = ClientLimits()
        limits.cachedRows = 100
        let container = PersistentContainer(
            entities: fixture.types, transport: fixture.transport, limits: limits)
        let context = container.makeContext(name: "scroller")
        let list = FetchedResults<Content>(
            source: .store(context), request: ResultsRequest(sort: ["size"]))
        let pages = stride(from: 0, to: list.count, by: 20).map { first in
            Probe { for at in first..<min(first + 20, list.count) { _ = list[at].name } }
        }
        #expect(context.registeredObjects.isEmpty && context.graph.count < 400)
        #expect(context.reporter.observed.numbers.count == list.count)
        // Every page has read the number of rows, which changes now.
        try writer.insert(Content.self).size = 5
        try context.reach(writer.save())
        #expect(pages.allSatisfy(\.hasFired) && context.reporter.observed.numbers.isEmpty)
    }

    @Test func `observers do not retain a context`() throws {
        weak var context: ManagedObjectContext?
        do {
            let short = fixture.container("short").makeContext(name: "short")
            context = short
            let object = try short.existingObject(with: home.id)
            _ = Probe { _ = object["name"] }
        }
        #expect(context == nil)
    }
}

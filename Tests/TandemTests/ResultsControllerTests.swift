import Tandem
import TandemIO
import TestSupport
import Testing

/// Results controllers over a real daemon, in well-known cases.
@MainActor @Suite struct ResultsControllerTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
    }

    private func controller(
        _ format: String? = nil, sort: [String] = ["name"], sections: String? = nil,
        refresh: [String] = [], limit: Int? = nil, entity: String = "Content"
    ) throws -> (FetchedResultsController<ManagedObject>, ChangeRecorder) {
        var request = FetchRequest(entity: entity, sort: sort.compactMap { SortKey($0) })
        request.predicate = try format.map { try ObjectPredicate(format: $0) }
        request.limit = limit
        let controller = try FetchedResultsController(
            fetchRequest: request, context: reader, sectionNameKeyPath: sections,
            relationshipKeyPathsForRefreshing: refresh)
        try controller.performFetch()
        let recorder = ChangeRecorder()
        controller.delegate = recorder
        return (controller, recorder)
    }

    private func content(
        _ name: String, _ size: Int = 0, in bucket: Bucket? = nil
    ) throws -> Content {
        let content = try writer.insert(Content.self)
        content.name = name
        content.size = size
        content.bucket = bucket
        return content
    }

    private func bucket(_ name: String) throws -> Bucket {
        let bucket = try writer.insert(Bucket.self)
        bucket.name = name
        return bucket
    }

    private func names(_ controller: FetchedResultsController<ManagedObject>) -> [String] {
        controller.fetchedObjects.map { $0["name"].json.string ?? "nil" }
    }

    @Test func `an object that was never loaded enters when it starts to match`() throws {
        let small = try content("a", 1)
        try writer.save()
        let (controller, recorder) = try controller("size > 5")
        #expect(controller.numberOfObjects == 0)
        small.size = 9
        try reader.reach(try writer.save())
        #expect(names(controller) == ["a"])
        #expect(recorder.summary == ["insert 0.0"])
        small.size = 2
        try reader.reach(try writer.save())
        #expect(recorder.summary == ["insert 0.0", "delete 0.0"])
    }

    @Test func `renaming a bucket refreshes the rows of its contents and no others`() throws {
        let (first, second) = (try bucket("x"), try bucket("y"))
        let inside = [try content("a", in: first), try content("c", in: first)]
        _ = try content("b", in: second)
        try writer.save()
        let (controller, recorder) = try controller(refresh: ["bucket.name"])
        first.name = "z"
        try reader.reach(try writer.save())
        #expect(recorder.changes.count == 1)
        #expect(recorder.updated == Set(inside.map(\.id)))
        #expect(recorder.summary == ["update 0.0-0.0", "update 0.2-0.2"])
        #expect(names(controller) == ["a", "b", "c"])
    }

    @Test func `renaming a bucket that names a section moves its rows into the new section`() throws
    {
        let (first, second) = (try bucket("x"), try bucket("y"))
        _ = try content("a", in: first)
        _ = try content("b", in: second)
        try writer.save()
        let (controller, recorder) = try controller(
            sort: ["bucket.name", "name"], sections: "bucket.name")
        first.name = "z"
        try reader.reach(try writer.save())
        #expect(controller.sections.map(\.name) == ["y", "z"])
        #expect(recorder.summary == ["section delete 0", "section insert 1", "move 0.0-1.0"])
    }

    @Test func `a controller with ANY keeps delivering under a steady stream of saves`()
        async throws
    {
        let home = try bucket("home")
        var position = try await writer.save()
        try await reader.reach(position)
        let (controller, recorder) = try controller(
            "ANY contents.size > 100", sort: ["name"], entity: "Bucket")
        let noise = fixture.container("noise")
        let isDone = Locked(false)
        let saves = Locked(0)
        let stream = Task.detached(executorPreference: ThreadPerJob()) {
            try await noise.withContext { context in
                // Every save makes another bucket a candidate of the list; the bucket does not
                // match. The bucket has one content object, so the cost of its evaluation does not
                // grow while other tests delay this one.
                let content = try context.insert(Content.self)
                content.bucket = try context.insert(Bucket.self)
                while !isDone.withLock({ $0 }) {
                    content.size = content.size % 50 + 1
                    try await context.save(policy: .overwrite)
                    saves.withLock { $0 += 1 }
                }
            }
        }
        while saves.withLock({ $0 }) == 0 { await Task.yield() }
        for round in 1...20 {
            let inside = try content("\(round)", round % 2 == 1 ? 500 : 0, in: home)
            if round % 2 == 0 { for other in home.contents { other.size = 0 } }
            _ = inside
            let before = saves.withLock { $0 }
            position = try await writer.save(policy: .overwrite)
            while saves.withLock({ $0 }) == before { await Task.yield() }
            try await reader.reach(position)
            #expect(controller.numberOfObjects == round % 2)
        }
        isDone.withLock { $0 = true }
        try await stream.value
        #expect(recorder.summary.count == 20)
        #expect(saves.withLock { $0 } >= 20)
    }

    @Test func `several saves merged together are one change with the net effect`() throws {
        let kept = try content("b", 1)
        let gone = try content("c", 1)
        try writer.save()
        let (controller, recorder) = try controller()
        kept.size = 2
        try writer.save()
        kept.size = 3
        writer.delete(gone)
        try writer.save()
        let passing = try content("p")
        try writer.save()
        writer.delete(passing)
        _ = try content("a")
        try reader.reach(try writer.save())
        #expect(names(controller) == ["a", "b"])
        #expect(recorder.changes.count == 1)
        #expect(recorder.summary == ["delete 0.1", "insert 0.0", "update 0.0-0.1"])
    }

    @Test func `a save of unchanged values is no change`() throws {
        let same = try content("a", 1)
        try writer.save()
        let (_, recorder) = try controller()
        let before = try writer.save()
        same.size = 1
        #expect(try writer.save() == before)
        try reader.reach(before)
        #expect(recorder.changes.isEmpty)
    }

    @Test func `sections out of order are a failure, and the list recovers with one change`() throws
    {
        let first = try content("a", 1)
        _ = try content("b", 1)
        _ = try content("c", 2)
        try writer.save()
        let (controller, recorder) = try controller(sections: "size")
        first.size = 2
        try reader.reach(try writer.save())
        #expect(controller.error?.code == .outOfOrderSection)
        #expect(recorder.failures.map(\.code) == [.outOfOrderSection])
        #expect(controller.sections.map(\.name) == ["1", "2"])
        first.name = "z"
        try reader.reach(try writer.save())
        #expect(controller.error == nil)
        #expect(recorder.changes.count == 1)
        #expect(controller.sections.map(\.numberOfObjects) == [1, 2])
    }

    @Test func `a limited list drops rows at its edge and takes them back`() throws {
        for name in ["b", "c", "d"] { _ = try content(name) }
        try writer.save()
        let (controller, recorder) = try controller(limit: 2)
        let first = try content("a")
        try reader.reach(try writer.save())
        #expect(names(controller) == ["a", "b"])
        #expect(recorder.summary == ["delete 0.1", "insert 0.0"])
        writer.delete(first)
        try reader.reach(try writer.save())
        #expect(names(controller) == ["b", "c"])
    }

    @Test func `all controllers of a context step before any delegate is called`() throws {
        let (one, recorder) = try controller()
        let (two, _) = try controller("size > 5")
        recorder.onChange = { #expect(one.numberOfObjects == 1 && two.numberOfObjects == 1) }
        _ = try content("a", 9)
        try reader.reach(try writer.save())
        #expect(recorder.changes.count == 1)
    }

    @Test func `misuse is a typed error and the list stays unchanged`() throws {
        _ = try content("a")
        try writer.save()
        let (controller, _) = try controller()
        controller.fetchRequest.predicate = try ObjectPredicate(format: "nope = 1")
        #expect { try controller.performFetch() } throws: { error in
            let code = (error as? TandemError)?.code
            return code == .unknownProperty || code == .invalidPredicate
        }
        #expect(names(controller) == ["a"])
        #expect {
            try FetchedResultsController(
                fetchRequest: FetchRequest(entity: "Content"), context: reader)
        } throws: { ($0 as? TandemError)?.code == .noSortDescriptors }
    }

    @Test func `the stream delivers every change in order`() async throws {
        let (controller, _) = try controller()
        var changes = controller.changes().makeAsyncIterator()
        for name in ["a", "b", "c"] {
            _ = try content(name)
            let position = try await writer.save()
            try await reader.reach(position)
            #expect(try await changes.next()?.position == position)
        }
    }
}

/// Records the changes and failures that a controller reports.
@MainActor final class ChangeRecorder: FetchedResultsControllerDelegate {
    private(set) var changes: [ControllerChange] = []
    private(set) var failures: [TandemError] = []
    var onChange: () -> Void = {}

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didChange change: ControllerChange
    ) {
        MainActor.assumeIsolated {
            changes.append(change)
            onChange()
        }
    }

    nonisolated func controller(
        _ controller: FetchedResultsController<ManagedObject>, didFailWith error: TandemError
    ) {
        MainActor.assumeIsolated { failures.append(error) }
    }

    /// The ids of all updates.
    var updated: Set<ObjectID> {
        Set(
            changes.flatMap { change in
                change.change.objects.compactMap { object -> ObjectID? in
                    if case .update = object { change.id(of: object) } else { nil }
                }
            })
    }

    /// Every section and object change, in order.
    var summary: [String] {
        changes.flatMap { change in
            change.change.sections.map { section in
                switch section {
                case .delete(let index, _): "section delete \(index)"
                case .insert(let index, _): "section insert \(index)"
                }
            } + change.change.objects.map(ChangeRecorder.text)
        }
    }

    private static func text(_ object: ResultsChange.ObjectChange) -> String {
        func path(_ path: ResultsIndexPath?) -> String {
            path.map { "\($0.section).\($0.item)" } ?? ""
        }
        let (from, to) = (path(object.from), path(object.to))
        return switch object {
        case .insert: "insert \(to)"
        case .delete: "delete \(from)"
        case .move: "move \(from)-\(to)"
        case .update: "update \(from)-\(to)"
        }
    }
}

import TandemModel
import TandemQuery
import TandemResults
import TandemWire
import Testing

@testable import Tandem

/// Edits shown in lists: in contexts that do not merge, at the edges of windows, and in sums.
@MainActor @Suite struct ResultsEditsTests {
    let fixture: Fixture
    let theirs: ManagedObjectContext
    let buckets: [Bucket]
    let contents: [Content]
    let start: Position

    /// Inserts contents with sizes 1 … 8 and the same name, alternating between buckets named x and
    /// y.
    init() throws {
        fixture = try Fixture()
        theirs = fixture.container("theirs").makeContext(name: "theirs")
        let theirs = theirs
        let buckets = try ["x", "y"].map { name in
            let bucket = try theirs.insert(Bucket.self)
            bucket.name = name
            return bucket
        }
        contents = try (1...8).map { size in
            let content = try theirs.insert(Content.self)
            (content.name, content.size) = ("\(size)", size)
            content.bucket = buckets[(size - 1) % 2]
            return content
        }
        self.buckets = buckets
        start = try theirs.save()
    }

    /// Returns a context whose lists hold no rows beyond their windows.
    private func context(mergesAutomatically: Bool = false) throws -> ManagedObjectContext {
        var limits = ClientLimits()
        limits.windowSlack = 0
        let context = PersistentContainer(
            entities: fixture.types, author: "mine", transport: fixture.transport, limits: limits
        ).makeContext(name: "mine", mergesAutomatically: mergesAutomatically)
        try context.reach(start)
        return context
    }

    private func list(
        in context: ManagedObjectContext, sort: [SortKey<ManagedObject>] = ["size"],
        limit: Int? = nil,
        sums: [String] = [], refreshing: [String] = []
    ) throws -> (FetchedResultsController<ManagedObject>, ChangeRecorder) {
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: sort, limit: limit),
            context: context, relationshipKeyPathsForRefreshing: refreshing)
        controller.sumProperties = sums
        try controller.performFetch()
        let recorder = ChangeRecorder()
        controller.delegate = recorder
        return (controller, recorder)
    }

    private func sizes(_ controller: FetchedResultsController<ManagedObject>) -> [Int] {
        controller.fetchedObjects.compactMap { ($0 as? Content)?.size }
    }

    private func reach(_ context: ManagedObjectContext) throws {
        try context.reach(try theirs.save())
    }

    // MARK: Windows

    enum Rest: CaseIterable { case manual, paused, pinned }

    @Test(arguments: Rest.allCases)
    func `a window refills after an unsaved deletion while its context rests`(_ rest: Rest)
        async throws
    {
        let mine = try context(mergesAutomatically: rest == .paused)
        let (controller, _) = try list(in: mine, limit: 3)
        switch rest {
        case .manual: break
        case .paused: mine.pause()
        case .pinned: try await mine.pin()
        }
        // Saves by others must not become visible.
        try theirs.insert(Content.self).size = 0
        try await theirs.save()
        for object in controller.fetchedObjects { mine.delete(object) }
        while sizes(controller) != [4, 5, 6] { await Task.yield() }
        #expect(mine.position == start)
        if rest == .pinned { try await mine.unpin() } else { try await mine.resume() }
        #expect(sizes(controller) == [0, 4, 5])
    }

    @Test func `a window refills after a merge that included the edits that emptied it`()
        async throws
    {
        let mine = try context(mergesAutomatically: true)
        let (controller, _) = try list(in: mine, limit: 3)
        contents[7].size = 80
        let end = try await theirs.save()
        try empty(controller, mine, end)
        while sizes(controller) != [4, 5, 6] { await Task.yield() }
    }

    /// Empties the list and merges in one job, so that only the merge reports the edits.
    private func empty(
        _ controller: FetchedResultsController<ManagedObject>, _ mine: ManagedObjectContext,
        _ end: Position
    ) throws {
        for object in controller.fetchedObjects { mine.delete(object) }
        try mine.reach(end)
    }

    @Test func `law 5: an edited row is reported for its related objects, also by a refill`() throws
    {
        let mine = try context()
        let (controller, recorder) = try list(
            in: mine, limit: 2, refreshing: ["bucket.name"])
        let edited = try #require(controller.fetchedObjects[0] as? Content)
        edited.name = "mine"
        mine.processPendingChanges()
        #expect(recorder.changes.count == 1)
        buckets[0].name = "renamed"
        theirs.delete(contents[1])
        try reach(mine)
        #expect(sizes(controller) == [1, 3])
        #expect(recorder.changes.count == 2)
        #expect(recorder.changes.last?.updatedIDs == [edited.id])
    }

    // MARK: Placement

    @Test func `an edit does not move a context that follows nothing, whatever it refers to`()
        async throws
    {
        let mine = try context()
        let (controller, _) = try list(in: mine, sort: ["bucket.name", "size"])
        mine.refreshAllObjects()
        contents[7].size = 80
        try await theirs.save()
        let spare = try theirs.insert(Bucket.self)
        spare.name = "a"
        try await theirs.save()
        let first = try #require(try mine.object(with: contents[0].id) as? Content)
        first.bucket = try mine.object(with: spare.id) as? Bucket
        mine.processPendingChanges()
        await mine.listUpdater.loadLacking()
        #expect(mine.position == start)
        #expect(controller.numberOfObjects == 8)
    }

    @Test func `faulting an edited object leaves its row in place`() throws {
        let mine = try context()
        let (controller, recorder) = try list(in: mine)
        let object = try #require(controller.fetchedObjects.first as? Content)
        object.size = 9
        mine.processPendingChanges()
        mine.refresh(object, mergeChanges: true)
        mine.processPendingChanges()
        #expect(controller.fetchedObjects.last === object)
        #expect(object.size == 9 && object.name == "1")
        mine.processPendingChanges()
        contents[1].name = "theirs"
        try reach(mine)
        #expect(recorder.summary == ["move 0.0-0.7", "update 0.0-0.0"])
        mine.refresh(object, mergeChanges: false)
        mine.processPendingChanges()
        #expect(controller.fetchedObjects.first === object)
    }

    @Test func `law 8: however much is edited, a merge places only the affected objects`() throws {
        let mine = try context()
        let (own, _) = try list(in: mine)
        let (related, _) = try list(in: mine, sort: ["bucket.name", "size"])
        let bucket = try #require(try mine.existingObject(with: buckets[0].id) as? Bucket)
        for number in 0..<10_000 {
            let content = try mine.insert(Content.self)
            content.size = number
            if number < 10 { content.bucket = bucket }
        }
        mine.processPendingChanges()
        #expect(own.numberOfObjects == 10_008 && related.numberOfObjects == 10_008)
        var before = (
            own.follower.list.overlay.placementCount, related.follower.list.overlay.placementCount
        )
        #expect(before == (10_000, 10_000))
        /// Returns how often each list placed an edited object since the last call.
        func placements() -> [Int] {
            let now = (
                own.follower.list.overlay.placementCount,
                related.follower.list.overlay.placementCount
            )
            defer { before = now }
            return [now.0 - before.0, now.1 - before.1]
        }
        for number in 0..<100 {
            contents[number % 8].size = 100 + number
            try reach(mine)
        }
        #expect(placements() == [0, 0])
        // The placement of ten of the objects depends on this bucket.
        buckets[0].name = "renamed"
        try reach(mine)
        #expect(placements() == [0, 10])
        try #require(own.fetchedObjects.last as? Content).size = -1
        mine.processPendingChanges()
        #expect(placements() == [1, 1])
        for list in [own, related] {
            #expect(try list.fetchedObjectIDs == mine.fetch(list.fetchRequest).map(\.id))
        }
    }

    @Test func `an edited object moves the rows that depend on it, and its save is no change`()
        throws
    {
        let mine = try context()
        let controller = try FetchedResultsController(
            fetchRequest: FetchRequest(entity: "Content", sort: ["bucket.name", "size"]),
            context: mine, sectionNameKeyPath: "bucket.name")
        try controller.performFetch()
        let recorder = ChangeRecorder()
        controller.delegate = recorder
        let bucket = try #require(try mine.existingObject(with: buckets[0].id) as? Bucket)
        bucket.name = "z"
        mine.processPendingChanges()
        #expect(controller.sections.map(\.name) == ["y", "z"])
        #expect(sizes(controller) == [2, 4, 6, 8, 1, 3, 5, 7])
        let change = try #require(recorder.changes.last)
        #expect(recorder.changes.count == 1 && change.change.objects.count == 4)
        #expect(
            change.change.objects.allSatisfy {
                change.cause(of: $0) == ChangeCause(keyPaths: ["bucket.name"])
            })
        // The edit hides the name that others saved; a row that they move into the bucket gets the
        // edited name.
        buckets[0].name = "a"
        contents[1].bucket = buckets[0]
        try reach(mine)
        #expect(sizes(controller) == [4, 6, 8, 1, 2, 3, 5, 7])
        #expect(recorder.changes.count == 2)
        #expect(recorder.changes.last?.change.objects.count == 1)
        try mine.save(policy: .objectTrump)
        #expect(recorder.changes.count == 2)
        bucket.name = "b"
        mine.processPendingChanges()
        #expect(controller.sections.map(\.name) == ["b", "y"])
        mine.rollback()
        mine.processPendingChanges()
        #expect(controller.sections.map(\.name) == ["y", "z"])
        #expect(recorder.changes.count == 4)
        controller.includesPendingChanges = false
        bucket.name = "c"
        mine.processPendingChanges()
        #expect(recorder.changes.count == 4)
        controller.includesPendingChanges = true
        #expect(controller.sections.map(\.name) == ["c", "y"])
        try controller.performFetch()
        #expect(controller.sections.map(\.name) == ["c", "y"])
        #expect(controller.fetchedObjectIDs == (try mine.fetch(controller.fetchRequest).map(\.id)))
    }

    // MARK: Sums

    private func expectSum(_ controller: FetchedResultsController<ManagedObject>) {
        let sum = sizes(controller).reduce(0, +)
        #expect(controller.sum(of: "size") == .int(Int64(sum)))
    }

    @Test func `law 4: sums are of the list's position, not of a later answer`()
        throws
    {
        let mine = try context()
        let (first, _) = try list(in: mine, sort: ["name"], limit: 2, sums: ["size"])
        let (second, _) = try list(in: mine, sort: ["-name"], limit: 2, sums: ["size"])
        theirs.delete(contents[0])
        theirs.delete(contents[7])
        let end = try theirs.save()
        func isFetch(_ message: ClientMessage) -> Bool {
            if case .fetch = message { true } else { false }
        }
        try mine.interrupting(beforeUsing: isFetch) {
            contents[1].size = 100
            contents[6].size = 200
            try theirs.save()
        } _: {
            try await mine.follower.reach(end, 10, $0)
        }
        #expect(mine.position == theirs.position)
        for list in [first, second] { expectSum(list) }
    }

    @Test func `a value that is set before the object is loaded counts after the load`()
        async throws
    {
        let mine = try context(mergesAutomatically: true)
        let (controller, _) = try list(in: mine, sort: ["name"], sums: ["size"])
        mine.refreshAllObjects()
        let object = try #require(try mine.object(with: contents[0].id) as? Content)
        object.size = 1_000
        while controller.sum(of: "size") != .int(1_035) { await Task.yield() }
        expectSum(controller)
    }
}

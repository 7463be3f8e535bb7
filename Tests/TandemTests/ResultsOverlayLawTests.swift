import TandemModel
import TandemResults
import TestSupport
import TestWorlds
import Testing

@testable import Tandem

/// Random edits, saves and merges under lists that show edits (laws 4 and 5).
@MainActor @Suite(.serialized) struct ResultsOverlayLawTests {
    /// A list, its first sections with its changes applied, and the values its rows showed.
    private final class Check: FetchedResultsControllerDelegate {
        let controller: FetchedResultsController<ManagedObject>
        var replayed: [SectionIDs] = []
        var reported: [UInt64] = []
        var changes = 0
        var shown: [UInt64: [PropertyValue?]] = [:]
        var failure: String?

        private let isByBucket: Bool

        init(_ controller: FetchedResultsController<ManagedObject>) throws {
            self.controller = controller
            isByBucket = controller.fetchRequest.sort.contains {
                $0.description.hasSuffix("bucket.name")
            }
            try controller.performFetch()
            replayed = sections
            shown = values
            controller.delegate = self
        }

        var sections: [SectionIDs] {
            controller.sections.map {
                SectionIDs(name: $0.name, numbers: $0.objectIDs.map(\.number))
            }
        }

        /// The values that each row shows: its own values including edits, and its bucket's name if
        /// the list is sorted by that.
        ///
        /// Otherwise only the reference to the bucket counts: a deleted bucket reads as null, but
        /// its deletion is a change of the bucket, not of the row.
        var values: [UInt64: [PropertyValue?]] {
            var values: [UInt64: [PropertyValue?]] = [:]
            for object in controller.fetchedObjects {
                _ = object["size"]
                let properties = object.entity.properties.filter { !$0.isToMany }
                values[object.id.number] = properties.map { object.record.value($0.slot) }
                if isByBucket, let content = object as? Content {
                    values[object.id.number]?.append(content.bucket.map { .string($0.name) })
                }
            }
            return values
        }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChange change: ControllerChange
        ) {
            changes += 1
            reported += change.change.reloaded
            do {
                replayed = try change.change.apply(to: replayed)
            } catch {
                failure = "\(error)"
            }
        }

        func problems() throws -> [String] {
            var problems = [failure].compactMap { $0 }
            if replayed != sections { problems.append("replayed \(replayed), shown \(sections)") }
            let fetched = try controller.context.fetch(controller.fetchRequest).map(\.id)
            if controller.error == nil, controller.fetchedObjectIDs != fetched {
                problems.append("shown \(controller.fetchedObjectIDs), fetched \(fetched)")
            }
            let now = values
            let differing = now.filter { number, value in shown[number].map { $0 != value } ?? false
            }
            let wrong = Set(differing.keys).symmetricDifference(reported)
            if changes <= 1, controller.error == nil, !wrong.isEmpty {
                let before = wrong.sorted().map { "\($0): \(shown[$0] ?? []) -> \(now[$0] ?? [])" }
                problems.append("reported \(reported), wrong \(before)")
            }
            (shown, reported, changes) = (now, [], 0)
            return problems
        }
    }

    @Test(arguments: 0..<Seed.worlds(4, deep: 8))
    func `laws 4 and 5: lists equal a fetch with edits, and report each visible change once`(
        _ run: Int
    ) async throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let fixture = try Fixture()
        var limits = ClientLimits()
        limits.windowSlack = [0, 2][run % 2]
        let container = PersistentContainer(
            entities: fixture.types, author: "mine", transport: fixture.transport, limits: limits)
        // With automatic merging, windows would be refilled at any time.
        let mine = container.makeContext(name: "mine", mergesAutomatically: false)
        let theirs = fixture.container("theirs").makeContext(name: "theirs")
        mine.allowsUndo = true
        for _ in 0..<12 { try edit(theirs, &random) }
        try await mine.reach(try await theirs.save())
        let checks = try Self.requests.map { request, sections in
            try Check(
                FetchedResultsController(
                    fetchRequest: request(), context: mine, sectionNameKeyPath: sections))
        }
        for round in 0..<60 {
            let action = try act(mine, theirs, &random)
            await mine.listUpdater.fillWindows()
            for check in checks {
                let problems = try check.problems()
                #expect(
                    problems.isEmpty,
                    "TANDEM_SEED=\(seed) round \(round) \(action): \(check.controller.fetchRequest.sort))"
                )
            }
        }
    }

    @Test(arguments: 0..<Seed.worlds(4, deep: 16))
    func `law 4: the lists of nested contexts equal fetches with the edits of all levels`(
        _ run: Int
    ) async throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        let fixture = try Fixture()
        let root = fixture.container("mine").makeContext(name: "root", mergesAutomatically: false)
        let child = root.makeChild(name: "child")
        let levels = [root, child, child.makeChild(name: "grandchild")]
        let theirs = fixture.container("theirs").makeContext(name: "theirs")
        for _ in 0..<12 { try edit(theirs, &random) }
        try await root.reach(try await theirs.save())
        let controllers = try levels.flatMap(Self.controllers)
        for round in 0..<40 {
            try actNested(levels, theirs, &random)
            await root.listUpdater.fillWindows()
            let differing = try Self.differences(of: controllers)
            try #require(differing.isEmpty, "TANDEM_SEED=\(seed) round \(round)")
        }
    }

    private static func controllers(
        of context: ManagedObjectContext
    ) throws -> [FetchedResultsController<ManagedObject>] {
        try requests.map { request, sections in
            let controller = try FetchedResultsController(
                fetchRequest: request(), context: context, sectionNameKeyPath: sections)
            try controller.performFetch()
            return controller
        }
    }

    /// Returns descriptions of the lists that differ from a fetch.
    private static func differences(
        of controllers: [FetchedResultsController<ManagedObject>]
    ) throws -> [String] {
        try controllers.compactMap { controller in
            if let error = controller.error { return "\(controller.context.name): \(error)" }
            let (context, request) = (controller.context, controller.fetchRequest)
            // The fetch merges what others saved, so it comes first.
            let fetched = try context.fetch(request).map(\.id)
            let shown = controller.fetchedObjectIDs
            return shown == fetched
                ? nil : "\(context.name) \(request): shown \(shown), fetched \(fetched)"
        }
    }

    private func actNested(
        _ levels: [ManagedObjectContext], _ theirs: ManagedObjectContext, _ random: inout SplitMix
    ) throws {
        let level = levels[random.next(levels.count)]
        switch random.next(6) {
        case 0:
            for _ in 0...random.next(3) { try edit(theirs, &random) }
            let position = try theirs.save(policy: .objectTrump)
            if random.next(2) == 0 { try levels[0].reach(position) }
        case 1:
            do {
                try level.save(policy: .objectTrump)
            } catch let error as TandemError {
                // An edit may refer to a bucket that others deleted.
                guard error.code == .unknownObject else { throw error }
            }
        case 2: level.rollback()
        default: for _ in 0...random.next(3) { try edit(level, &random) }
        }
        for level in levels { level.processPendingChanges() }
    }

    private static var requests:
        [(request: () throws -> FetchRequest<ManagedObject>, sections: String?)]
    {
        func request(
            _ format: String?, _ sort: [SortKey<ManagedObject>], limit: Int? = nil, offset: Int = 0
        ) -> () throws -> FetchRequest<ManagedObject> {
            {
                var request = FetchRequest(
                    entity: "Content",
                    predicate: try format.map { try ObjectPredicate(format: $0) }, sort: sort,
                    limit: limit)
                request.offset = offset
                return request
            }
        }
        return [
            (request(nil, ["size", "name"]), nil), (request("size > 3", ["name"]), nil),
            (request(nil, ["size", "-name"]), "size"), (request("name != 'b'", ["name"]), "name"),
            (request("bucket != nil", ["-size"]), nil),
            (request(nil, ["-size"], limit: 200), nil),
            (request(nil, ["size", "name"], limit: 3), nil),
            (request("size > 1", ["-size"], limit: 5), "size"),
            (request(nil, ["name"], limit: 3, offset: 1), nil),
            (request("size != 4", ["name", "-size"], offset: 1), "name"),
            (request("ANY bucket.contents.size = 3", ["size"]), nil),
            (request(nil, ["bucket.name", "size"]), nil),
            (request("size > 2", ["-bucket.name", "name"]), "bucket.name"),
        ]
    }

    private func act(
        _ mine: ManagedObjectContext, _ theirs: ManagedObjectContext, _ random: inout SplitMix
    ) throws -> String {
        switch random.next(8) {
        case 0:
            for _ in 0...random.next(3) { try edit(theirs, &random) }
            let position = try theirs.save(policy: .objectTrump)
            // Changes that have not been merged make the next save a conflict.
            if random.next(2) == 0 { try mine.reach(position) }
            return "theirs"
        case 1:
            let policies: [MergePolicy] = [.objectTrump, .storeTrump, .overwrite, .rollback]
            do {
                try mine.save(policy: policies[random.next(4)])
            } catch let error as TandemError {
                // An edit may refer to a bucket that others deleted; it stays until it is dropped.
                guard error.code == .unknownObject else { throw error }
            }
            return "save"
        case 2:
            mine.rollback()
            mine.processPendingChanges()
            return "rollback"
        case 3:
            if random.next(2) == 0 { mine.undo() } else { mine.redo() }
            mine.processPendingChanges()
            return "undo"
        default:
            for _ in 0...random.next(3) { try edit(mine, &random) }
            mine.processPendingChanges()
            return "edit"
        }
    }

    private func edit(_ context: ManagedObjectContext, _ random: inout SplitMix) throws {
        let contents = try context.fetch(Content.self, sort: ["name", "size"])
        let buckets = try context.fetch(Bucket.self)
        switch random.next(9) {
        case 0: try context.insert(Bucket.self).name = "b\(random.next(4))"
        case 8 where !buckets.isEmpty:
            buckets[random.next(buckets.count)].name = "b\(random.next(4))"
        case 1 where !buckets.isEmpty && random.next(3) == 0:
            context.delete(buckets[random.next(buckets.count)])
        case 2 where contents.count > 6: context.delete(contents[random.next(contents.count)])
        case 3, 4: try change(context.insert(Content.self), buckets, &random)
        default:
            if contents.isEmpty { return }
            try change(contents[random.next(contents.count)], buckets, &random)
        }
    }

    private func change(_ content: Content, _ buckets: [Bucket], _ random: inout SplitMix) throws {
        switch random.next(4) {
        case 0: content.name = ["a", "b", "c", "d"][random.next(4)]
        case 1 where !buckets.isEmpty: content.bucket = buckets[random.next(buckets.count)]
        case 2: content.bucket = nil
        default: content.size = random.next(8)
        }
    }
}

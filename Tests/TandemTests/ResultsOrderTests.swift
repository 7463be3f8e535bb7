import Tandem
import Testing

/// Results controllers during changes of an order: of their own rows, and of an ordered
/// relationship.
@MainActor @Suite struct ResultsOrderTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture([Bucket.self, Content.self] + orderedTypes)
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
    }

    private func controller(
        _ entity: String, sort: [String], refresh: [String] = [],
        where predicate: ObjectPredicate? = nil
    ) throws -> (FetchedResultsController<ManagedObject>, ChangeRecorder) {
        var request = FetchRequest(entity: entity, sort: sort.compactMap { SortKey($0) })
        request.predicate = predicate
        let controller = try FetchedResultsController(
            fetchRequest: request, context: reader,
            relationshipKeyPathsForRefreshing: refresh)
        try controller.performFetch()
        let recorder = ChangeRecorder()
        controller.delegate = recorder
        return (controller, recorder)
    }

    private func names(_ controller: FetchedResultsController<ManagedObject>) -> String {
        controller.fetchedObjects.map { $0["name"].json.string ?? "nil" }.joined()
    }

    private func contents(_ names: String) throws -> [Content] {
        try names.enumerated().map { index, name in
            let content = try writer.insert(Content.self)
            (content.name, content.size) = (String(name), index + 1)
            return content
        }
    }

    private func squad(_ names: String) throws -> Squad {
        let squad = try writer.insert(Squad.self)
        squad.runners = try names.map {
            let runner = try writer.insert(Runner.self)
            runner.name = String($0)
            return runner
        }
        return squad
    }

    // MARK: The order of the rows

    @Test func `a row whose position in the order changes moves, and no other does`() throws {
        let made = try contents("abcd")
        try writer.save()
        let (controller, recorder) = try controller("Content", sort: ["size"])
        #expect(names(controller) == "abcd")
        made[0].size = 9
        try reader.reach(try writer.save())
        #expect(names(controller) == "bcda")
        #expect(recorder.summary == ["move 0.0-0.3"])
        made[3].size = 0
        try reader.reach(try writer.save())
        #expect(names(controller) == "dbca")
        #expect(recorder.summary == ["move 0.0-0.3", "move 0.2-0.0"])
        // A row that stays between its neighbours is not moved.
        made[3].size = 1
        try reader.reach(try writer.save())
        #expect(recorder.summary == ["move 0.0-0.3", "move 0.2-0.0", "update 0.0-0.0"])
    }

    @Test func `a reversed order keeps one row in place and moves the others`() throws {
        let made = try contents("abcde")
        try writer.save()
        let (controller, recorder) = try controller("Content", sort: ["size"])
        for content in made { content.size = -content.size }
        try reader.reach(try writer.save())
        #expect(names(controller) == "edcba")
        #expect(recorder.changes.count == 1)
        #expect(recorder.summary.count { $0.hasPrefix("move") } == 4)
        #expect(recorder.summary.allSatisfy { !$0.hasPrefix("insert") && !$0.hasPrefix("delete") })
    }

    @Test func `rows that are ordered by a related object move with it`() throws {
        let made = try contents("abc")
        let buckets = try ["x", "y"].map { name in
            let bucket = try writer.insert(Bucket.self)
            bucket.name = name
            return bucket
        }
        for content in made { content.bucket = buckets[0] }
        made[2].bucket = buckets[1]
        try writer.save()
        let (controller, recorder) = try controller("Content", sort: ["bucket.name", "name"])
        buckets[1].name = "a"
        try reader.reach(try writer.save())
        #expect(names(controller) == "cab")
        #expect(recorder.summary == ["move 0.2-0.0"])
    }

    // MARK: The order of a relationship

    @Test func `a reordered relationship refreshes the rows that show it`() throws {
        let squad = try squad("abc")
        let other = try self.squad("d")
        (squad.name, other.name) = ("s", "t")
        try writer.save()
        let (squads, squadRecorder) = try controller("Squad", sort: ["name"], refresh: ["runners"])
        let (runners, runnerRecorder) = try controller("Runner", sort: ["name"])
        let shown = try #require(squads.fetchedObjects.first as? Squad)
        #expect(shown.runners.map(\.name).joined() == "abc")
        var seen = ""
        squadRecorder.onChange = { seen = shown.runners.map(\.name).joined() }
        squad.insert(squad.runners[2], into: "runners", at: 0)
        try reader.reach(try writer.save())
        #expect(squadRecorder.summary == ["update 0.0-0.0"])
        // Reading within the notification shows the new order.
        #expect(seen == "cab")
        // The rows of the members neither changed nor moved.
        #expect(runnerRecorder.summary == [])
        #expect(names(runners) == "abcd")
    }

    @Test func `a list of an ordered relationship's members moves by their own values`()
        throws
    {
        let squad = try squad("abc")
        try writer.save()
        let predicate = try ObjectPredicate(format: "squad == %@", arguments: [.object(squad.id)])
        let (controller, recorder) = try controller("Runner", sort: ["name"], where: predicate)
        squad.runners.swapAt(0, 2)
        try reader.reach(try writer.save())
        #expect(recorder.summary == [])
        squad.runners[0].name = "C"
        try reader.reach(try writer.save())
        #expect(names(controller) == "Cab")
        #expect(recorder.summary == ["move 0.2-0.0"])
        squad.runners.removeFirst()
        try reader.reach(try writer.save())
        #expect(recorder.summary == ["move 0.2-0.0", "delete 0.0"])
    }
}

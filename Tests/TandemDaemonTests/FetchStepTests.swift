import TandemIO
import TandemModel
import TandemQuery
import TandemStore
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Where an object stands, by itself.
private struct Placed: Equatable {
    var object: ObjectReference
    var key: [UInt8]
    var section: String
    var reached: [ObjectReference?]

    static func all(_ places: ListPlaces) -> [Placed] {
        (0..<places.count).map { index in
            Placed(
                object: places.object(index), key: Array(places.key(index)),
                section: places.sections[Int(places.sectionPlace(index))],
                reached: places.links(index).map { $0 == 0 ? nil : places.reached[Int($0) - 1] })
        }
    }

    /// What a client would make of the rows.
    static func all(
        _ rows: StoredObjects, _ request: CompiledRequest, _ store: Store
    ) -> [Placed] {
        let reader = StoreReader(store)
        func follow(_ name: String, from row: Row?) -> ObjectReference? {
            guard let row, let entity = request.model.entity(tagged: row.tag),
                let slot = entity.slot(of: name)
            else { return nil }
            return row.reference(slot, in: entity)
        }
        return rows.map { stored in
            var section = ""
            if case .known(let name) = request.section(stored.object, stored.row, reader) {
                section = name
            }
            let parent = follow("parent", from: stored.row)
            var parentRow: Row?
            if let parent, case .row(let row) = reader.row(of: parent) { parentRow = row }
            let isNode = request.entity.name == "Node"
            let reached = [
                follow("group", from: stored.row), parent, follow("group", from: parentRow),
            ]
            return Placed(
                object: stored.object,
                key: request.sortKey(stored.object, stored.row, reader) ?? [],
                section: section, reached: isNode ? reached : [])
        }
    }
}

/// A fetch in steps between which others save is a fetch at the end.
@Suite(.ownThread) struct FetchStepTests {
    /// Lists that are found by each kind of access path, beside those of the verdicts.
    private static func requests(_ random: inout SplitMix64) throws -> [FetchRequest] {
        let group = ObjectID(entity: "Group", number: UInt64.random(in: 1...30, using: &random))
        let found = try [
            ObjectPredicate(format: "rank >= 1 AND rank < 3"),
            ObjectPredicate(format: "rank IN {1, 2, 1}"),
            ObjectPredicate(format: "code == 'a' OR code == 'b'"),
            ObjectPredicate(format: "code == 'a'"),
            ObjectPredicate(format: "group == %@", arguments: [.object(group)]),
        ].map { FetchRequest(entity: "Node", predicate: $0, sort: ["name"]) }
        return found + VerdictTests.lists.map(\.request)
    }

    @Test(arguments: [DaemonLimits().verdictTransactions, 1])
    func `law 4: a fetch in steps of one gives what one at its end gives`(
        _ window: Int
    ) throws {
        var limits = DaemonLimits()
        limits.verdictTransactions = window
        for round in UInt64(0)..<3 {
            var random = SplitMix64(seed: seed &+ round)
            var graph = try RandomGraph(seed: seed &+ 900 &+ round, limits: limits)
            for _ in 0..<30 { try graph.step() }
            for var request in try Self.requests(&random) {
                if Bool.random(using: &random) {
                    request.limit = Int.random(in: 0...6, using: &random)
                    request.offset = Int.random(in: 0...3, using: &random)
                }
                let kind = Fetch.Kind.allCases.randomElement(using: &random) ?? .rows
                let list = kind == .list ? Self.details(of: request, &random) : nil
                let fetch = Fetch(request: request, kind: kind, list: list)
                try check(fetch, &graph, &random, "seed \(seed) round \(round): \(request)")
            }
        }
    }

    /// What is asked of a list, with hops and a section that each of its entities has.
    private static func details(
        of request: FetchRequest, _ random: inout SplitMix64
    ) -> ListDetails {
        let isNode = request.entity == "Node"
        let section = isNode ? request.sort.first?.keyPath ?? "group.title" : nil
        return ListDetails(
            sectionKeyPath: section, refreshKeyPaths: isNode ? ["parent.group.title"] : [],
            hops: isNode ? [["group"], ["parent"], ["parent", "group"]] : [],
            rowsUpTo: UInt32.random(in: 0...4, using: &random))
    }

    private func check(
        _ fetch: Fetch, _ graph: inout RandomGraph, _ random: inout SplitMix64, _ what: String
    ) throws {
        let committer = graph.bench.committer
        let model = try graph.bench.model
        let read = try ReadUnderWay(
            .fetch(fetch), fetch, at: fetch.at, id: 1, in: model, committer)
        let share = Int.random(in: 0...40, using: &random)
        var saves = 0
        var budget = 1
        while !(try read.step(committer, &budget)) {
            if saves < 25, Int.random(in: 0..<100, using: &random) < share {
                try graph.step()
                saves += 1
            }
            budget = Int.random(in: 1...3, using: &random)
        }
        let request = try fetch.compiled(in: model)
        let found = try #require(try read.cursor?.result())
        let expected = try committer.store.fetch(request, for: fetch.part(of: request))
        #expect(found.objects == expected.objects, "\(what)")
        #expect((found.places == nil) == (expected.places == nil), "\(what)")
        if let places = found.places {
            let rows = try committer.store.fetch(request, for: .rows).objects
            #expect(places.count > Int(fetch.list?.rowsUpTo ?? 0))
            #expect(Placed.all(places) == Placed.all(rows, request, committer.store), "\(what)")
        }
        #expect(found.references == expected.references, "\(what)")
        #expect(found.count == expected.count, "\(what)")
        #expect(read.position == committer.position)
    }

    // MARK: Sessions

    private func bench(
        _ count: Int, sliceReads: Int, isGrouped: Bool = false,
        readBytes: Int = DaemonLimits().readBytes
    ) throws -> EngineBench {
        var limits = DaemonLimits()
        limits.readBytes = readBytes
        limits.sliceReads = sliceReads
        limits.leaseNumbers = 1 << 20
        let bench = try EngineBench(limits: limits, engineClock: ManualClock())
        _ = try bench.bench.committer.lease(1 << 20)
        try bench.bench.save([try bench.bench.insert("Group", 1, ["title": .string("g")])])
        let group = try bench.bench.reference("Group", 1)
        for start in stride(from: 2, to: count + 2, by: 1_000) {
            try bench.bench.save(
                try (start..<min(start + 1_000, count + 2)).map {
                    var values: [String: Value] = ["rank": .int(Int64($0 % 100))]
                    if isGrouped { values["group"] = .reference(group) }
                    return try bench.bench.insert("Node", UInt64($0), values)
                })
        }
        return bench
    }

    private let nodes = FetchRequest(entity: "Node", sort: ["rank"])

    @Test func `law 7: saves get positions between the steps of a question of 100,000 candidates`()
        throws
    {
        let bench = try bench(100_000, sliceReads: DaemonLimits().sliceReads)
        let (asker, saver) = (try bench.client(), try bench.client())
        // No index has this order.
        var request = FetchRequest(entity: "Node", sort: ["name"])
        request.limit = 100
        let question = try asker.send(.fetch(Fetch(request: request)))
        var turns = 0
        while asker.received.isEmpty, turns < 1_000 {
            let id = try saver.send(
                .save(saver.saveRequest([try insert(bench, 150_000 + UInt64(turns))])))
            try bench.turn()
            try saver.read()
            #expect(saver.received.last?.id == id)
            try asker.read()
            turns += 1
        }
        #expect(turns >= 100_000 / DaemonLimits().sliceReads)
        guard case .fetched(let found) = try asker.answer(question) else {
            Issue.record("no answer")
            return
        }
        #expect(found.position == bench.position.number)
        #expect(found.count == 100)
        #expect(found.objects.count == 100)
    }

    @Test func `law 7: however many ask, between two batches they get one budget together`() throws
    {
        let bench = try bench(100, sliceReads: 10)
        let askers = try (0..<8).map { _ in try bench.client() }
        for asker in askers { _ = try asker.send(.fetch(Fetch(request: nodes))) }
        var turns = 0
        while askers.contains(where: \.received.isEmpty), turns < 1_000 {
            try bench.turn()
            for asker in askers { try asker.read() }
            turns += 1
        }
        // One for those that begin, and one for those that go on.
        #expect(turns >= 8 * 100 / 20 && turns < 1_000)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `law 8: what many keys have in common counts for each of them`() throws {
        let bench = try bench(400, sliceReads: 10, isGrouped: true, readBytes: 600_000)
        let title = String(repeating: "t", count: 4_000)
        try bench.bench.save([try bench.bench.update("Group", 1, ["title": .string(title)])])
        let client = try bench.client()
        let request = FetchRequest(entity: "Node", sort: ["group.title", "rank"])
        let list = ListDetails(sectionKeyPath: "group.title", hops: [["group"]], rowsUpTo: 2)
        let question = try client.send(.fetch(Fetch(request: request, list: list)))
        guard case .failure(let error) = try client.answer(question) else {
            Issue.record("1,600,000 bytes of keys were sent")
            return
        }
        #expect(error.code == .limitExceeded)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `law 7: a fetch that others alter faster than it goes ends all the same`() throws {
        let bench = try bench(200, sliceReads: 10, isGrouped: true)
        let (asker, saver) = (try bench.client(), try bench.client())
        let predicate = try ObjectPredicate(format: "group.title != nil")
        let request = FetchRequest(entity: "Node", predicate: predicate, sort: ["group.title"])
        let id = try asker.send(.fetch(Fetch(request: request)))
        var turns = 0
        while asker.received.isEmpty, turns < 1_000 {
            turns += 1
            let title = Value.string("g\(turns)")
            let update = try bench.bench.update("Group", 1, ["title": title])
            _ = try saver.send(.save(saver.saveRequest([update])))
            try bench.turn()
            try saver.read()
            try asker.read()
        }
        #expect(turns < 200)
        guard case .fetched(let found) = try asker.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.objects.count == 200)
    }

    @Test func `law 7: what a longer step looks at is taken from the budget`() throws {
        let bench = try bench(200, sliceReads: 10)
        let committer = bench.bench.committer
        let read = try ReadUnderWay(
            .fetch(Fetch(request: nodes)), Fetch(request: nodes), at: 0, id: 1,
            in: try bench.bench.model, committer)
        var (steps, looked, left) = (0, 0, 0)
        var isDone = false
        while !isDone, steps < 200 {
            left = 10
            let before = read.cursor?.rowsRead ?? 0
            isDone = try read.step(committer, &left)
            looked = (read.cursor?.rowsRead ?? 0) - before
            #expect(left <= 10 - looked)
            steps += 1
            guard !isDone else { break }
            try bench.bench.save(
                try (2..<202).map {
                    try bench.bench.update("Node", $0, ["rank": .int(Int64(steps % 100))])
                })
        }
        #expect(isDone && looked >= 200 && left <= 10 - 200)
    }

    @Test func `law 7: a fetch catches up where transactions are few but large`() throws {
        let bench = try bench(4_000, sliceReads: 100)
        let committer = bench.bench.committer
        let read = try ReadUnderWay(
            .fetch(Fetch(request: nodes)), Fetch(request: nodes), at: 0, id: 1,
            in: try bench.bench.model, committer)
        let name = Value.string(String(repeating: "x", count: 600))
        var (steps, behind, isDone) = (0, UInt64(0), false)
        while !isDone, steps < 100 {
            var left = 100
            isDone = try read.step(committer, &left)
            steps += 1
            guard !isDone else { break }
            let first = UInt64(2 + steps % 20 * 200)
            try bench.bench.save(
                try (first..<first + 200).map {
                    try bench.bench.update("Node", $0, ["name": name, "rank": .int(7)])
                })
            behind = max(behind, committer.position - read.position)
        }
        // Each has more than 120 kB.
        #expect(isDone && behind <= 3)
        #expect(try read.cursor?.result().count == 4_000)
    }

    @Test func `law 7: a fetch that falls too far behind at each step ends all the same`() throws {
        var steps: [Int] = []
        for isHeldUp in [false, true] {
            var limits = DaemonLimits()
            limits.verdictTransactions = 3
            let bench = try EngineBench(limits: limits)
            try bench.bench.save(
                try (UInt64(1)...200).map { try bench.bench.insert("Node", $0) })
            let committer = bench.bench.committer
            let read = try ReadUnderWay(
                .fetch(Fetch(request: nodes)), Fetch(request: nodes), at: 0, id: 1,
                in: try bench.bench.model, committer)
            var (count, isDone) = (0, false)
            while !isDone, count < 100 {
                for rank in Int64(0)..<5 {
                    try bench.bench.save([try bench.bench.update("Node", 1, ["rank": .int(rank)])])
                }
                // Whose client makes it late gets no longer steps for that.
                if isHeldUp { read.holdUp() }
                var left = 10
                isDone = try read.step(committer, &left)
                count += 1
            }
            steps.append(count)
            #expect(isDone != isHeldUp)
        }
        #expect(steps[0] < 20 && steps[1] == 100)
    }

    /// A fetch over 200 members of a group whose title is altered before each step of ten.
    private func followHub(
        readsToCatchUp: Int? = nil
    ) throws -> (steps: Int, looked: Int, spent: Int, count: Int?) {
        let bench = try bench(200, sliceReads: 10, isGrouped: true)
        let committer = bench.bench.committer
        let predicate = try ObjectPredicate(format: "group.title != 'x'")
        let fetch = Fetch(request: FetchRequest(entity: "Node", predicate: predicate))
        let read = try ReadUnderWay(
            .fetch(fetch), fetch, at: 0, id: 1, in: try bench.bench.model, committer)
        if let readsToCatchUp { read.readsToCatchUp = readsToCatchUp }
        var (steps, spent, isDone) = (0, 0, false)
        while !isDone, steps < 500 {
            let title = Value.string("g\(steps)")
            try bench.bench.save([try bench.bench.update("Group", 1, ["title": title])])
            var left = 10
            isDone = try read.step(committer, &left)
            spent += 10 - left
            steps += 1
        }
        let count = isDone ? try read.cursor?.result().count : nil
        return (steps, read.cursor?.rowsRead ?? 0, spent, count)
    }

    @Test func `law 7: catching up with those who alter a hub is done once and is in the budget`()
        throws
    {
        let (steps, looked, spent, count) = try followHub()
        #expect(count == 200)
        // A candidate and its group are two: so many steps to the last one, then a longer one.
        #expect(steps <= 2 * 200 / 10 + 2)
        #expect(looked <= 2 * 200)
        #expect(spent >= 2 * 200 + 200 + 2 * 200 && spent < 2 * 200 + 3 * 600)
    }

    @Test func `law 7: a hub that is too large to follow does not keep a fetch from its end`()
        throws
    {
        let (steps, _, _, count) = try followHub(readsToCatchUp: 150)
        #expect(count == 200 && steps < 200)
    }

    @Test func `law 8: what an index led to counts, and so does the question`() throws {
        let bench = try bench(2_000, sliceReads: 100)
        let long = [String](repeating: String(repeating: "x", count: 50), count: 100)
        let predicate = try ObjectPredicate(
            format: "rank >= 0 AND rank < 25 AND NOT name IN %@",
            arguments: [.list(long.map { .value(.string($0)) })])
        let asker = try bench.client()
        let request = FetchRequest(entity: "Node", predicate: predicate)
        let id = try asker.send(.fetch(Fetch(request: request, kind: .count)))
        for _ in 0..<4 { try bench.turn() }
        // Nothing was judged yet.
        #expect(asker.session.read?.cursor?.rowsRead == 0)
        #expect(bench.engine.readBytes > 5_000 + 300 * MemoryLayout<ObjectReference>.stride)
        guard case .fetched(let found) = try asker.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.objects.isEmpty && bench.engine.readBytes == 0)
    }

    /// A bench where one and a half fetches of all of 300 nodes fit, and what one holds at its end.
    private func narrowBench() throws -> (EngineBench, whole: Int) {
        let roomy = try bench(300, sliceReads: 10)
        let read = try ReadUnderWay(
            .fetch(Fetch(request: nodes)), Fetch(request: nodes), at: 0, id: 1,
            in: try roomy.bench.model, roomy.bench.committer)
        var budget = Int.max >> 1
        _ = try read.step(roomy.bench.committer, &budget)
        let whole = read.bytes
        return (try bench(300, sliceReads: 10, readBytes: whole * 3 / 2), whole)
    }

    @Test func `law 7: who stops reading while it fetches takes nobody's room`() throws {
        let (bench, whole) = try narrowBench()
        let stopped = try bench.client(Hello(author: "stopped", interests: ["Tag"]))
        let (saver, asker) = (try bench.client(), try bench.client())
        let id = try stopped.send(.fetch(Fetch(request: nodes)))
        var turns = 0
        while (stopped.session.read?.countedBytes ?? 0) < whole * 3 / 4, turns < 100 {
            try bench.turn()
            turns += 1
        }
        let text = Value.string(String(repeating: "x", count: 30_000))
        try saver.save(
            try (UInt64(1_000)..<1_030).map { try bench.bench.insert("Tag", $0, ["label": text]) })
        #expect(stopped.session.isWaitingToWrite)
        #expect((stopped.session.read?.countedBytes ?? 0) >= whole * 3 / 4)
        for _ in 0..<2 {
            #expect(try asker.fetch(Fetch(request: nodes)).objects.count == 300)
        }
        #expect((stopped.session.read?.countedBytes ?? whole) < whole / 4)
        try saver.save([try insert(bench, 5_000)])
        guard case .fetched(let found) = try stopped.answer(id) else {
            Issue.record("no answer")
            return
        }
        #expect(found.objects.count == 301 && found.position == bench.position.number)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `law 7: fetches that fit alone but not together end one after the other`() throws {
        let (bench, _) = try narrowBench()
        let askers = try (0..<5).map { _ in try bench.client() }
        let ids = try askers.map { try $0.send(.fetch(Fetch(request: nodes))) }
        for (asker, id) in zip(askers, ids) {
            guard case .fetched(let found) = try asker.answer(id) else {
                Issue.record("no answer")
                continue
            }
            #expect(found.objects.count == 300)
        }
        #expect(bench.engine.limitCounts[.readBytes] > 0)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `laws 7 and 8: a batch looks for its objects in the room that fetches leave`() throws
    {
        let (_, whole) = try narrowBench()
        let bench = try bench(300, sliceReads: 10, readBytes: whole + 200)
        let (asker, changer) = (try bench.client(), try bench.client())
        // No index answers it, so that every row is read.
        var wanted = try bench.batch("Node")
        wanted.request.predicate = try ObjectPredicate(format: "name != 'x'")
        let batch = try changer.send(.batch(wanted))
        let fetch = try asker.send(.fetch(Fetch(request: nodes)))
        for _ in 0..<5 { try bench.turn() }
        let held = bench.engine.batches.current?.heldBytes ?? 0
        #expect(held > 0 && bench.engine.readBytes == bench.engine.fetchBytes + held)
        guard case .fetched(let found) = try asker.answer(fetch),
            case .failure(let error) = try changer.answer(batch)
        else {
            Issue.record("another answer")
            return
        }
        #expect(found.objects.count == 300 && error.code == .limitExceeded)
        #expect(error.message.contains("limits.readBytes"))
        #expect(try changer.run(try bench.batch("Node")).count == 300)
        #expect(bench.engine.readBytes == 0)
    }

    @Test func `law 2: what a client asks behind a fetch is answered behind it`() throws {
        let bench = try bench(50, sliceReads: 5)
        let (asker, other) = (try bench.client(), try bench.client())
        let first = try asker.send(.fetch(Fetch(request: nodes)))
        let second = try asker.send(.read(Read()))
        let third = try asker.send(.fetch(Fetch(request: nodes, kind: .count)))
        let elsewhere = try other.send(.read(Read()))
        try bench.turn()
        try other.read()
        #expect(other.received.map(\.id) == [elsewhere])
        for _ in 0..<100 where asker.received.count < 3 {
            try bench.turn()
            try asker.read()
        }
        #expect(asker.received.map(\.id) == [first, second, third])
    }

    @Test func `a fetch is forgotten with its connection, and refused under another model`() throws
    {
        let bench = try bench(50, sliceReads: 5)
        let (gone, asker) = (try bench.client(), try bench.client())
        let id = try asker.send(.fetch(Fetch(request: nodes)))
        _ = try gone.send(.fetch(Fetch(request: nodes)))
        for _ in 0..<4 { try bench.turn() }
        #expect(asker.session.read != nil && gone.session.read != nil)
        #expect(bench.engine.readBytes > 0)
        bench.engine.disconnect(gone.session, because: nil)
        #expect(gone.session.read == nil)
        var model = graphModel
        model.entities["Spare"] = Entity("Spare")
        try bench.bench.committer.install(model, by: Principal())
        guard case .failure(let error) = try asker.answer(id) else {
            Issue.record("no failure")
            return
        }
        #expect(error.code == .schemaMismatch)
        #expect(bench.engine.readBytes == 0)
        #expect(try asker.fetch(Fetch(request: nodes)).objects.count == 50)
    }

    @Test func `law 4: verdicts and the fetch beside them stand at one position`() throws {
        let bench = try bench(60, sliceReads: 5)
        let (asker, saver) = (try bench.client(), try bench.client())
        let from = bench.position.number
        let request = VerdictRequest(
            from: from, items: [VerdictItem(request: nodes)],
            alongside: .fetch(Fetch(request: nodes)))
        let id = try asker.send(.verdicts(request))
        var saves: UInt64 = 0
        while asker.received.isEmpty, saves < 100 {
            saves += 1
            let insert = try insert(bench, 500 + saves)
            _ = try saver.send(.save(saver.saveRequest([insert])))
            try bench.turn()
            try asker.read()
        }
        guard case .verdicts(let answer) = try asker.answer(id),
            case .fetched(let found) = answer.alongside
        else {
            Issue.record("no verdicts")
            return
        }
        #expect(saves > 4 && answer.position == from + saves)
        #expect(found.position == answer.position && found.objects.count == 60 + Int(saves))
        #expect(answer.items.first?.count == Int(saves))
    }

    @Test func `law 7: a history of which little interests is given in parts`() throws {
        let bench = try bench(1, sliceReads: 7)
        let client = try bench.client()
        for number in UInt64(100)..<150 { try client.save([try insert(bench, number)]) }
        let (end, tag) = (bench.position.number, try bench.bench.entity("Tag").tag)
        var (position, parts) = (UInt64(0), 0)
        while position < end {
            let request = HistoryRequest(from: position, interests: [tag])
            guard case .history(let part) = try client.ask(.history(request)) else { break }
            #expect(part.position == min(end, position + 7))
            #expect(part.isComplete == (part.position == end))
            position = part.position
            parts += 1
        }
        #expect(parts == Int((end + 6) / 7))
    }

    private func insert(_ bench: EngineBench, _ number: UInt64) throws -> SaveOperation {
        try bench.bench.insert("Node", number, ["rank": .int(Int64(number % 7))])
    }
}

import Tandem
import TestSupport
import TestWorlds
import Testing

/// The calls that observers of a list receive, their order, failures, recoveries and first lists.
@MainActor @Suite struct ResultsDeliveryTests {
    let fixture: Fixture
    let writer: ManagedObjectContext
    let reader: ManagedObjectContext

    init() throws {
        fixture = try Fixture()
        writer = fixture.container("writer").makeContext(name: "writer")
        reader = fixture.container("reader").makeContext(name: "reader")
    }

    private func save(_ rows: (String, Int)...) throws -> [Content] {
        let contents = try rows.map { name, size in
            let content = try writer.insert(Content.self)
            (content.name, content.size) = (name, size)
            return content
        }
        try save()
        return contents
    }

    private func save() throws { try reader.reach(try writer.save()) }

    private func list(
        _ format: String? = nil, sort: [SortKey<ManagedObject>] = ["name"], sections: String? = nil
    ) throws -> FetchedResultsController<ManagedObject> {
        try FetchedResultsController(
            fetchRequest: FetchRequest(
                entity: "Content", predicate: try format.map { try ObjectPredicate(format: $0) },
                sort: sort), context: reader, sectionNameKeyPath: sections)
    }

    /// Records every call, and checks the controller's answers during the call.
    private final class Calls: FetchedResultsControllerDelegate {
        var all: [String] = []
        var wrong: [String] = []

        func controllerWillChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
            all.append("will")
        }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChangeSection section: ResultsChange.SectionChange
        ) {
            switch section {
            case .delete(let index, let name): all.append("delete section \(index) \(name)")
            case .insert(let index, let name): all.append("insert section \(index) \(name)")
            }
        }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChangeObject object: ResultsChange.ObjectChange, id: ObjectID
        ) {
            func text(_ path: ResultsIndexPath) -> String { "\(path.section).\(path.item)" }
            switch object {
            case .delete(_, _, let from): all.append("delete \(text(from))")
            case .insert(_, _, let to): all.append("insert \(text(to))")
            case .move(_, _, let from, let to): all.append("move \(text(from))-\(text(to))")
            case .update(_, _, let from, let to): all.append("update \(text(from))-\(text(to))")
            }
            // New index paths are the ones that the controller already reports.
            let stands = controller.indexPath(for: id)
            if stands != object.to { wrong.append("\(id) at \(String(describing: stands))") }
            if let to = object.to, controller.object(at: to).id != id {
                wrong.append("\(id) is not at \(to)")
            }
        }

        func controllerDidChangeContent(_ controller: FetchedResultsController<ManagedObject>) {
            all.append("did")
        }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>,
            didChange change: ControllerChange
        ) { all.append("change") }

        func controller(
            _ controller: FetchedResultsController<ManagedObject>, didFailWith error: TandemError
        ) {
            all.append("failure \(error.code)")
        }
    }

    @Test func `the calls of one change come in a fixed order, and the list is in its new state`()
        throws
    {
        let rows = try save(
            ("a", 1), ("b", 1), ("m", 1), ("k", 2), ("k2", 2), ("q", 5), ("r", 5))
        let list = try list(sort: ["size", "name"], sections: "size")
        try list.performFetch()
        let calls = Calls()
        list.delegate = calls
        writer.delete(rows[0])
        rows[2].size = 2
        writer.delete(rows[5])
        writer.delete(rows[6])
        // The bucket is not part of the sort order, so this is an update.
        rows[3].bucket = try writer.insert(Bucket.self)
        let new = try writer.insert(Content.self)
        (new.name, new.size) = ("n", 3)
        try save()
        #expect(
            calls.all == [
                "will", "delete 0.0", "delete 2.0", "delete 2.1", "delete section 2 5",
                "insert section 2 3", "insert 2.0", "move 0.2-1.2", "update 1.0-1.0", "did",
                "change",
            ])
        #expect(calls.wrong.isEmpty)
        #expect(list.indexPath(for: rows[0].id) == nil)
    }

    // MARK: Failures and recoveries

    @Test func `readers of changes are notified of a list's failure and of its recovery`()
        async throws
    {
        let list = try list(sections: "size")
        let rows = try save(("a", 1), ("b", 2))
        try await list.performFetch()
        let calls = Calls()
        list.delegate = calls
        var heard: [ControllerChange] = []
        list.onChange = { heard.append($0) }
        var every = list.changes().makeAsyncIterator()
        var latest = list.changes(.latest).makeAsyncIterator()
        var signals = list.signals().makeAsyncIterator()
        let intruder = try save(("c", 1))[0]
        #expect(list.error?.code == .outOfOrderSection)
        await signals.next(isolation: #isolation)
        #expect(heard.map { $0.error?.code } == [.outOfOrderSection])
        var change = try await every.next()
        #expect(change?.error?.code == .outOfOrderSection && change?.change.isEmpty == true)
        change = try await latest.next()
        #expect(change?.error?.code == .outOfOrderSection)
        // The row that broke the order is deleted: the list recovers without a difference.
        writer.delete(intruder)
        try save()
        await signals.next(isolation: #isolation)
        #expect(list.error == nil && heard.count == 2)
        change = try await every.next()
        #expect(change?.error == nil && change?.change.isEmpty == true)
        change = try await latest.next()
        #expect(change?.error == nil && change?.position == list.position)
        #expect(calls.all == ["failure outOfOrderSection", "will", "did", "change"])
        // A fetch also recovers the list; delegates are not notified of this recovery.
        let other = try save(("c", 1))[0]
        other.name = "0"
        rows[0].name = "00"
        heard = []
        try await writer.save()
        try await list.performFetch()
        #expect(list.error == nil && heard.map { $0.error == nil } == [true])
    }

    @Test func `a first list is marked, also if it is empty, and for snapshots`() async throws {
        final class Snapshots: FetchedResultsSnapshotDelegate {
            var firsts: [Bool] = []
            func controller(
                _ controller: FetchedResultsController<ManagedObject>,
                didChangeContentWith snapshot: FetchedResultsSnapshot
            ) { firsts.append(snapshot.isFirstLoad) }
        }
        let list = try list()
        let snapshots = Snapshots()
        list.delegate = snapshots
        var heard: [Bool] = []
        list.onChange = { heard.append($0.isFirstLoad) }
        var changes = list.changes().makeAsyncIterator()
        try await list.performFetch()
        let first = try await changes.next()
        #expect(first?.isFirstLoad == true && first?.change.isEmpty == true)
        _ = try save(("a", 1))
        try await list.performFetch()
        #expect(snapshots.firsts == [true, false, false])
        #expect(heard == [true, false])
    }

    // MARK: Values

    @Test(arguments: 0..<Seed.worlds(2, deep: 4))
    func `law 5: changes are applied to sections and merged, position and causes included`(
        _ run: Int
    ) throws {
        let seed = Seed.value(run)
        var random = SplitMix(seed)
        var rows = try save(("a", 1), ("b", 2), ("c", 2))
        let list = try list(sort: ["size", "name"], sections: "size")
        try list.performFetch()
        var changes: [(old: [FetchedResultsSection], change: ControllerChange)] = []
        var old = list.sections
        list.onChange = { changes.append((old, $0)) }
        for round in 0..<40 {
            let row = rows[random.next(rows.count)]
            switch random.next(4) {
            case 0: rows += try save(("\(round)", random.next(4)))
            case 1 where rows.count > 2 && !row.isDeleted:
                writer.delete(row)
                rows.removeAll { $0 === row }
            case 2: row.name = "\(random.next(9))"
            default: row.size = random.next(4)
            }
            try save()
            if let last = changes.last {
                #expect(try last.change.apply(to: last.old) == list.sections, "seed \(seed)")
            }
            old = list.sections
        }
        guard var whole = changes.first else { return }
        for next in changes.dropFirst() {
            whole.change = try whole.change.merging(next.change, from: whole.old)
        }
        #expect(try whole.change.apply(to: whole.old) == list.sections, "seed \(seed)")
        #expect(whole.change.position == changes.last?.change.position)
    }

    @Test func `a change prints ids, paths and its position`() throws {
        let rows = try save(("a", 1), ("b", 2))
        let list = try list(sort: ["size"], sections: "name")
        var printed: [String] = []
        list.onChange = { printed.append("\($0)") }
        try list.performFetch()
        rows[1].size = 0
        rows[1].name = "0"
        try save()
        let moved = try #require(list.position)
        writer.delete(rows[0])
        try save()
        let deleted = try #require(list.position)
        let ids = rows.map(\.id)
        #expect(
            printed.suffix(2) == [
                "position \(moved.number): section - b at 1; section + 0 at 0; \(ids[1]) (1, 0) to (0, 0)",
                "position \(deleted.number): section - a at 1; - \(ids[0]) at (1, 0)",
            ])
    }

    @Test func `each row has its own cause, also rows that edits add and remove`()
        throws
    {
        let (near, far) = (try writer.insert(Bucket.self), try writer.insert(Bucket.self))
        (near.name, far.name) = ("a", "b")
        let rows = try save(("x", 1), ("y", 2))
        rows[0].bucket = near
        rows[1].bucket = far
        try save()
        let list = try list("bucket.name = 'a' AND size < 5")
        try list.performFetch()
        var causes: [[ChangeCause]] = []
        list.onChange = { change in
            causes.append(change.change.objects.map { change.cause(of: $0) })
        }
        // A new row's cause is its insertion, whatever else the save changed.
        far.name = "a"
        let new = try writer.insert(Content.self)
        (new.name, new.bucket) = ("z", near)
        try save()
        #expect(causes.last?.map(\.keyPaths) == [["bucket.name"], []])
        // A merge without effect does not become the cause of a later change.
        let mine = try #require(list.fetchedObjects.first as? Content)
        let other = try writer.insert(Bucket.self)
        other.name = "none"
        try save()
        other.name = "no one"
        try save()
        mine.size = 9
        reader.processPendingChanges()
        #expect(causes.last == [ChangeCause(properties: ["size"])])
        mine.size = 2
        reader.processPendingChanges()
        #expect(causes.last?.map(\.properties) == [["size"]])
    }
}

import TandemIO
import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Snapshots, which return the state at their position, whatever happens to the store meanwhile.
@Suite(.ownThread) struct SnapshotTests {
    @Test func `law 4: a snapshot returns its position's state by every plan, whatever is saved`()
        throws
    {
        var plans: Set<String> = []
        for round in UInt64(0)..<Volume.of(3, deep: 5) {
            let seed = seed &+ 800 &+ round
            let writer = ShelfWriter(try RandomShelf(seed: seed, objects: 60))
            for _ in 0..<8 {
                let (snapshot, fetches, lists) = try writer.snapshot(fetches: 4, lists: 2)
                defer { snapshot.end() }
                let position = writer.shelf.bench.store.checkpointPosition
                for expected in fetches {
                    // The check is called during a read, both before and after it sorts.
                    let differences = try expected.differences(
                        in: snapshot, check: { writer.step() },
                        visit: { _, _, found in
                            plans.insert("\(found.plan.prefix { $0 != " " })")
                        })
                    #expect(differences == [], "seed \(seed)")
                }
                for expected in lists {
                    let differences = try expected.differences(
                        in: snapshot, check: { writer.step() })
                    #expect(differences == [], "seed \(seed)")
                }
                #expect(snapshot.appliedPosition == position)
                #expect(writer.shelf.bench.store.checkpointPosition > position)
            }
            #expect(writer.error == nil, "seed \(seed): \(String(describing: writer.error))")
        }
        #expect(
            plans.isSuperset(of: ["scan", "index", "related", "any", "inverse", "unique"]),
            "\(plans)")
    }

    @Test func `law 4: two threads read snapshots of two positions while a third applies`() throws {
        for round in UInt64(0)..<Volume.of(2, deep: 5) {
            let seed = seed &+ 900 &+ round
            let writer = ShelfWriter(try RandomShelf(seed: seed, objects: 60))
            var readers: [SnapshotReader] = []
            for _ in 0..<2 {
                let (snapshot, fetches, lists) = try writer.snapshot(fetches: 12, lists: 6)
                readers.append(try SnapshotReader(snapshot, fetches, lists))
                writer.step()
            }
            let first = writer.shelf.bench.store.checkpointPosition
            var steps = 0
            // Steps take longer as the shelf grows, so their number is bounded.
            while !readers.allSatisfy(\.isDone), writer.error == nil {
                if steps < 4_000 { writer.step() }
                steps += 1
            }
            for reader in readers { #expect(reader.finished() == [], "seed \(seed)") }
            #expect(writer.error == nil, "seed \(seed): \(String(describing: writer.error))")
            #expect(writer.shelf.bench.store.checkpointPosition > first)
            #expect(writer.shelf.bench.store.readers.count == 0)
            #expect(try writer.shelf.bench.store.check().isClean, "seed \(seed)")
        }
    }

    /// Read from the current store, and from a later snapshot.
    @Test(arguments: [false, true])
    func `a read of the past returns what a snapshot at that position returned`(
        isOfSnapshot: Bool
    ) throws {
        for round in UInt64(0)..<Volume.of(2, deep: 4) {
            let seed = seed &+ 1_000 &+ round
            let writer = ShelfWriter(try RandomShelf(seed: seed, objects: 80))
            let (snapshot, fetches, lists) = try writer.snapshot(fetches: 20, lists: 10)
            for _ in 0..<15 { writer.step() }
            let store = writer.shelf.bench.store
            if isOfSnapshot { try store.checkpoint() }
            let later = isOfSnapshot ? try store.snapshot() : nil
            let view: StoreView = later ?? store
            let past = try writer.shelf.past(
                at: snapshot.appliedPosition, upTo: view.appliedPosition)
            if isOfSnapshot { for _ in 0..<10 { writer.step() } }
            for expected in fetches {
                #expect(try expected.differences(in: snapshot) == [], "seed \(seed)")
                #expect(try expected.differences(in: view, past: past) == [], "seed \(seed)")
                let (now, then) = (
                    try snapshot.fetch(expected.compiled),
                    try view.fetch(expected.compiled, past: past)
                )
                #expect(then.count == now.count, "seed \(seed) \(expected.request)")
                #expect(then.objects.map(\.row) == now.objects.map(\.row), "seed \(seed)")
            }
            for expected in lists {
                #expect(try expected.differences(in: snapshot) == [], "seed \(seed)")
                #expect(try expected.differences(in: view, past: past) == [], "seed \(seed)")
            }
            #expect(writer.error == nil, "seed \(seed): \(String(describing: writer.error))")
        }
    }

    @Test func `a snapshot reads objects, members and unique values as they were`() throws {
        let bench = try StoreBench(model: shelfModel)
        let file = try bench.reference("File", 2)
        try bench.apply([
            try bench.insert("Folder", 1, ["kind": .string("a")]),
            try bench.insert(
                "File", 2,
                ["code": .int(7), "folder": .reference(try bench.reference("Folder", 1))]
            ),
            try bench.touch("Folder", 1, "files", added: [file]),
        ])
        try bench.store.checkpoint()
        let snapshot = try bench.store.snapshot()
        defer { snapshot.end() }
        let before = try bench.store.stored(file)
        try bench.apply([
            try bench.delete("File", 2), try bench.touch("Folder", 1, "files", removed: [file]),
            try bench.update("Folder", 1, ["kind": .string("b")]),
        ])
        for isCommitted in [false, true] {
            if isCommitted { try bench.store.checkpoint() }
            #expect(try bench.store.stored(file) == nil)
            #expect(try snapshot.stored(file) == before && before != nil)
            let files = try #require(
                try bench.entity("Folder").property(named: "files")?.relationship)
            #expect(try snapshot.members(of: 1, files) == [file])
            #expect(try bench.store.members(of: 1, files) == [])
            let entity = try bench.entity("File")
            let row = try bench.row("File", ["code": .int(7)])
            #expect(try snapshot.owner(of: entity.uniqueness[0], row, entity) == file)
            #expect(try snapshot.count(of: file.tag) == 1)
            #expect(try bench.store.count(of: file.tag) == 0)
        }
    }

    @Test(arguments: [StoreTable.rows, .indexes, .links, .unique], [false, true])
    func `law 7: damage is the same error by every plan, in the store and in a snapshot`(
        table: StoreTable, isOfKeys: Bool
    ) throws {
        var refused = 0
        for length in [1, 2, 5, 9] {
            var shelf = try RandomShelf(seed: seed &+ 1_200, objects: 30)
            var requests = try (0..<12).map { _ in try shelf.request() }
            let codes = (0...40).map(String.init).joined(separator: ", ")
            for format in ["ANY labels.color == 'a'", "size > -21", "code IN {\(codes)}"] {
                let predicate = try ObjectPredicate(format: format)
                requests.append(FetchDescriptor(entity: "File", predicate: predicate))
            }
            let store = shelf.bench.store
            for (key, value) in try shelf.bench.entries(table) {
                let (cut, damaged) =
                    isOfKeys
                    ? (Array(key.prefix(length)), value) : (key, Array(value.prefix(length)))
                try store.current.put(store.tables[table], cut, damaged)
            }
            try store.checkpoint()
            store.forgetCached()
            let snapshot = try store.snapshot()
            defer { snapshot.end() }
            for request in requests {
                let compiled = try CompiledRequest(request, in: try shelf.bench.model)
                for plan in ExpectedFetch.plans(compiled, .rows) {
                    let here = Self.outcome { try store.fetch(compiled, by: plan, for: .rows) }
                    let there = Self.outcome { try snapshot.fetch(compiled, by: plan, for: .rows) }
                    let path = plan.text(of: compiled, for: .rows)
                    #expect(here == there, "seed \(seed) \(request) by \(path)")
                    guard case .failure(let error) = there else { continue }
                    refused += 1
                    #expect(error.code == .damaged, "\(error)")
                }
            }
        }
        #expect(isOfKeys || refused >= 3, "\(table): only \(refused)")
    }

    private static func outcome(
        _ fetch: () throws -> FetchResult
    ) -> Result<StoredObjects, StoreError> {
        Result { try fetch().objects }
            .mapError { $0 as? StoreError ?? StoreError(.failed, "\($0)") }
    }

    @Test func `transactions applied after the last checkpoint are not in a snapshot`() throws {
        let bench = try StoreBench.league(10, seed: seed)
        try bench.store.checkpoint()
        try bench.apply([try bench.insert("Tag", 900, [:])])
        let snapshot = try bench.store.snapshot()
        defer { snapshot.end() }
        #expect(snapshot.appliedPosition == bench.store.checkpointPosition)
        #expect(snapshot.appliedPosition == bench.store.appliedPosition - 1)
        #expect(try snapshot.stored(try bench.reference("Tag", 900)) == nil)
    }

    @Test func `a snapshot outlives a revert of the store`() throws {
        let bench = try StoreBench.league(30, seed: seed)
        try bench.store.checkpoint()
        let snapshot = try bench.store.snapshot()
        defer { snapshot.end() }
        let request = try CompiledRequest(FetchDescriptor(entity: "Player"), in: try bench.model)
        let before = try snapshot.fetch(request).objects
        try bench.apply([try bench.insert("Player", 900, [:])])
        try bench.store.revert()
        try bench.apply([try bench.insert("Player", 901, [:])])
        try bench.store.checkpoint()
        #expect(try snapshot.fetch(request).objects == before && !before.isEmpty)
        #expect(try bench.store.fetch(request).count == before.count + 1)
    }

    @Test func `a snapshot that is ended or released frees its reader`() throws {
        let bench = try StoreBench.league(10, seed: seed)
        try bench.store.checkpoint()
        let first = try bench.store.snapshot()
        var second: StoreSnapshot? = try bench.store.snapshot()
        #expect(bench.store.readers.count == 2 && second != nil)
        first.end()
        first.end()
        #expect(bench.store.readers.count == 1)
        second = nil
        #expect(bench.store.readers.count == 0)
    }

    @Test func `if all readers are in use the next snapshot waits for one to end`() throws {
        var options = StoreOptions()
        options.readers = 3
        let bench = try StoreBench(options: options)
        try bench.apply([try bench.insert("Tag", 1, [:])])
        try bench.store.checkpoint()
        let request = try CompiledRequest(FetchDescriptor(entity: "Tag"), in: try bench.model)
        /// Snapshots, each with its number of objects.
        var held = try (0..<3).map { _ in (try bench.store.snapshot(), 1) }
        for number in 2...6 {
            let error = #expect(throws: StoreError.self) { try bench.store.snapshot() }
            #expect(error?.code == .noReader, "\(error?.message ?? "nothing")")
            #expect(bench.store.readers.count == 3)
            // Neither the store nor the other snapshots are affected.
            try bench.apply([try bench.insert("Tag", UInt64(number), [:])])
            try bench.store.checkpoint()
            for (snapshot, count) in held { #expect(try snapshot.fetch(request).count == count) }
            held.removeFirst().0.end()
            held.append((try bench.store.snapshot(), number))
        }
        for (snapshot, count) in held { #expect(try snapshot.fetch(request).count == count) }
        #expect(held.map(\.1) == [4, 5, 6])
    }
}

/// A thread that fetches from a snapshot repeatedly, with every plan.
private final class SnapshotReader {
    private struct Outcome: Sendable {
        var differences: [String] = []
        var isDone = false
    }

    private let outcome: Locked<Outcome>
    private let thread: KernelThread

    /// Starts the thread, which takes over the snapshot and ends it.
    init(
        _ snapshot: StoreSnapshot, _ fetches: [ExpectedFetch], _ lists: [ExpectedList]
    ) throws {
        let outcome = Locked(Outcome())
        // Used only by the new thread from here on.
        nonisolated(unsafe) let snapshot = snapshot
        self.outcome = outcome
        thread = try KernelThread.start(name: "reader", stackBytes: 8 << 20) {
            var found: [String] = []
            do {
                for expected in fetches { found += try expected.differences(in: snapshot) }
                for expected in lists { found += try expected.differences(in: snapshot) }
            } catch {
                found.append("\(error)")
            }
            snapshot.end()
            outcome.withLock { [found] in $0 = Outcome(differences: found, isDone: true) }
        }
    }

    var isDone: Bool { outcome.withLock(\.isDone) }

    /// Waits for the thread's end, and returns the results that differed from the expected ones.
    func finished() -> [String] {
        thread.join()
        return outcome.withLock(\.differences)
    }
}

import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Rows evaluated in place in LMDB's pages.
@Suite(.ownThread) struct InPlaceTests {
    @Test func `rows in pages are evaluated and sorted like their copies`() throws {
        var random = RandomLeague(try StoreBench(), seed: seed &+ 5)
        for round in 0..<30 {
            for _ in 0..<6 { try random.step() }
            // Rows in memory, and rows in pages that were never in memory.
            if round % 3 == 1 { try random.bench.store.checkpoint() }
            if round % 7 == 3 {
                try random.bench.store.checkpoint()
                try random.bench.reopen()
            }
            for sort in [
                [], [SortComponent("team.name"), SortComponent("goals", ascending: false)],
            ] {
                let request = try CompiledRequest(
                    FetchDescriptor(
                        entity: "Player",
                        predicate: try ObjectPredicate(
                            format: "team.wins >= 1 OR ANY tags.label = 'a' OR goals > 2"),
                        sort: sort),
                    in: try random.bench.model)
                let found = try random.bench.store.fetch(request)
                let copies = try judged(request, random.bench)
                #expect(found.objects == StoredObjects(copies), "seed \(seed) round \(round)")
                #expect(try random.bench.store.fetch(request, for: .count).count == copies.count)
            }
        }
    }

    /// Returns the matches of a request if every row is copied before it is evaluated.
    private func judged(_ request: CompiledRequest, _ bench: StoreBench) throws -> [Store.Stored] {
        let store = bench.store
        let reader = CopyReader(store: StoreReader(store))
        var found: [(key: [UInt8], stored: Store.Stored)] = []
        for tag in request.entity.descendants {
            try store.current.scan(store.tables.rows, prefix: StoreKey.tag(tag)) {
                (key, _) throws(StoreError) -> Bool in
                let object = try store.decoder.object(tag, key, in: .rows)
                guard let stored = try store.stored(object) else { return true }
                guard request.matches(object, stored.row, reader) == true else { return true }
                found.append((request.sortKey(object, stored.row, reader) ?? [], stored))
                return true
            }
        }
        found.sort {
            $0.key == $1.key
                ? $0.stored.object < $1.stored.object : $0.key.lexicographicallyPrecedes($1.key)
        }
        return found.map(\.stored)
    }

    @Test func `law 7: a write while a row is borrowed stops the process, not the row's reader`()
        async
    {
        await #expect(processExitsWith: .failure) {
            let bench = try StoreBench()
            try bench.apply([try bench.insert("Team", 1, ["name": .string("a")])])
            try bench.store.checkpoint()
            try bench.reopen()
            let object = try bench.reference("Team", 1)
            let change = try bench.insert("Team", 2, ["name": .string("b")])
            _ = try bench.store.withRow(of: object) { _ in try? bench.apply([change]) }
        }
        await #expect(processExitsWith: .failure) {
            let bench = try StoreBench()
            try bench.apply([try bench.insert("Team", 1, ["name": .string("a")])])
            try bench.store.checkpoint()
            try bench.reopen()
            _ = try bench.store.withRow(of: try bench.reference("Team", 1)) { _ in
                try? bench.store.checkpoint()
            }
        }
    }
}

/// Returns copies, as readers did before rows were borrowed.
private struct CopyReader: GraphReader {
    let store: StoreReader

    func row(of object: ObjectReference) -> RowLookup { store.row(of: object) }

    func members(
        of object: ObjectReference, _ relationship: CompiledRelationship, slot: Int
    ) -> [ObjectReference]? {
        store.members(of: object, relationship, slot: slot)
    }
}

import TandemModel
import TandemQuery
import TestSupport
import Testing

@testable import TandemStore

/// Damaged values, each of which must be an error and never a trap.
@Suite(.ownThread) struct DamagedValueTests {
    private static let tables = StoreTable.allCases.filter { $0 != .meta }
    /// The tables whose values are needed for answers; each is tested at every length except its
    /// valid ones.
    private static let telling: [StoreTable: Set<Int>] = [
        .rows: [], .numbers: [2], .links: [2], .indexes: [2], .unique: [10], .blobUses: [],
        .saves: [], .consumers: [12],
    ]

    @Test(arguments: tables) func `law 7: values of any length are read or refused`(
        table: StoreTable
    ) throws {
        let bench = try StoreBench.league(24, seed: seed)
        try bench.apply(Transaction(content: .objects([]), blobs: [CheckTests.unused]))
        try bench.store.put(Consumer(name: "reader", acknowledged: 3))
        try bench.store.rememberUnchanged(
            IdempotencyRecord(
                position: 2, contentHash: StableHash([1]), wrote: false, inserted: []),
            by: 7, id: [2])
        try bench.store.checkpoint()
        let entries = try bench.entries(table)
        try #require(!entries.isEmpty)
        for length in Volume.of([0, 1, 7, 9, 12], deep: Array(0...12)) {
            for (key, value) in entries {
                let cut = Array((value + [UInt8](repeating: 0xff, count: 12)).prefix(length))
                try bench.store.current.put(bench.store.tables[table], key, cut)
            }
            let errors = bench.useEverything()
            let codes = errors.map(\.code)
            let allowed: Set<StoreError.Code> = [.damaged, .failed]
            #expect(codes.allSatisfy(allowed.contains), "\(table) \(length): \(errors)")
            if let right = Self.telling[table], !right.contains(length) {
                #expect(codes.contains(.damaged), "\(table) \(length): \(errors)")
            }
            try bench.store.revert()
        }
        #expect(bench.useEverything().isEmpty)
    }

    @Test func `law 7: keys of any length are read or refused`() throws {
        for table in Self.tables {
            let bench = try StoreBench.league(24, seed: seed)
            let entries = try bench.entries(table)
            for length in Volume.of([1, 5, 9, 12], deep: Array(1...12)) {
                for (key, value) in entries {
                    try bench.store.current.put(
                        bench.store.tables[table], Array(key.prefix(length)), value)
                    // A key at the end of its index, where a backward scan begins.
                    guard table == .indexes else { continue }
                    let last = Array(key.prefix(2)) + [UInt8](repeating: 0xff, count: length)
                    try bench.store.current.put(bench.store.tables[table], last, value)
                }
                let codes = bench.useEverything().map(\.code)
                #expect(
                    codes.allSatisfy { $0 == .damaged || $0 == .failed },
                    "\(table) \(length): \(codes)")
                try bench.store.revert()
            }
        }
    }

    @Test func `law 7: rows cut anywhere are refused`() throws {
        let bench = try StoreBench.league(24, seed: seed)
        for (key, value) in try bench.entries(.rows).prefix(12) {
            // Empty the caches, because recently written rows would not be read.
            bench.store.forgetCached()
            let object = ObjectReference(
                tag: key.withUnsafeBytes { $0.bigEndian(0, as: UInt16.self) },
                number: key.withUnsafeBytes { $0.bigEndian(2, as: UInt64.self) })
            for length in 0..<value.count {
                try bench.store.current.put(
                    bench.store.tables.rows, key, Array(value.prefix(length)))
                let error = #expect(throws: StoreError.self) { try bench.store.stored(object) }
                #expect(error?.code == .damaged, "\(length) of \(value.count) bytes")
            }
            try bench.store.revert()
        }
    }

    @Test(arguments: 0...12) func `law 7: damaged metadata of the store is refused`(
        length: Int
    ) throws {
        for key in [MetaKey.applied, .modelPosition, .leases, .saveFloor, .identity, .model] {
            guard length != 8 || key == .identity || key == .model else { continue }
            let bench = try StoreBench.league(5, seed: seed)
            let value = [UInt8](repeating: 0xff, count: length)
            let open = try bench.store.current
            try open.put(bench.store.tables.meta, key.key, value)
            try open.commit()
            bench.store.close()
            let path = bench.scratch.path
            let error = #expect(throws: StoreError.self, "\(key)") {
                try Store.openForReading(path: path, isPrivate: true)
            }
            #expect(error?.code == .damaged, "\(key): \(error.map { "\($0)" } ?? "")")
        }
    }
}

extension StoreBench {
    func entries(_ table: StoreTable) throws -> [(key: [UInt8], value: [UInt8])] {
        var found: [(key: [UInt8], value: [UInt8])] = []
        try store.current.scan(store.tables[table], from: []) { key, value in
            found.append((Array(key), Array(value)))
            return true
        }
        return found
    }

    /// Calls every function that reads the tables; returns the errors.
    fileprivate func useEverything() -> [StoreError] {
        var errors: [StoreError] = []
        func use(_ body: () throws -> Void) {
            do {
                try body()
            } catch let error as StoreError {
                errors.append(error)
            } catch {
                Issue.record("\(error)")
            }
        }
        guard let model = store.model else { return [] }
        // Empty the caches, which do not know the values that a test writes.
        store.forgetCached()
        for number in ObjectNumber(1)...24 {
            use { _ = try store.entity(ofNumber: number) }
            for entity in model.entities {
                let object = ObjectReference(tag: entity.tag, number: number)
                use { useObject(object, try store.stored(object), entity, use) }
            }
        }
        for entity in model.entities {
            for format in ["TRUEPREDICATE", "goals == 2", "goals > 1", "name == 'A'", "city > 'A'"]
            {
                use {
                    guard let predicate = try? ObjectPredicate(format: format),
                        let request = try? CompiledRequest(
                            FetchDescriptor(entity: entity.name, predicate: predicate), in: model)
                    else { return }
                    _ = try store.fetch(request)
                    _ = try store.fetch(request, for: .count)
                    guard let lookup = KeyLookup(request.request, in: model) else { return }
                    _ = try lookup.objects(in: store)
                }
            }
        }
        for entity in model.entities {
            for index in entity.indexes {
                let sort = index.slots.map {
                    SortComponent(entity.properties[$0].name, ascending: false)
                }
                use {
                    let fetch = FetchDescriptor(entity: entity.name, sort: sort, limit: 2)
                    guard let request = try? CompiledRequest(fetch, in: model) else { return }
                    _ = try store.fetch(request)
                }
            }
        }
        for id in UInt8(0)...9 { use { _ = try store.save(by: 7, id: [id]) } }
        use { for key in try entries(.saves).map(\.key) { _ = try store.save(of: key) } }
        use { _ = try store.consumers() }
        use { _ = try store.stateHash() }
        use { _ = try store.check() }
        use { try applyAfterDamage(model) }
        return errors
    }

    private func useObject(
        _ object: ObjectReference, _ stored: Store.Stored?, _ entity: CompiledEntity,
        _ use: (() throws -> Void) -> Void
    ) {
        for property in entity.properties {
            guard let relationship = property.relationship, relationship.toMany else { continue }
            use { _ = try store.members(of: object.number, relationship) }
        }
        guard let stored else { return }
        _ = stored.row.values(in: entity)
        for index in entity.uniqueness {
            use { _ = try store.owner(of: index, stored.row, entity) }
        }
        for blob in stored.row.blobs(in: entity) {
            use { _ = try store.content(of: blob) }
            use {
                let blobs = BlobTable(store.tables, path: store.path, acceptsLosses: false)
                try blobs.count(nil, replacing: stored.row, entity, at: 99, store.current)
            }
        }
    }

    /// Forgets saves, sweeps blobs, and installs a model that rewrites every row.
    private func applyAfterDamage(_ model: CompiledModel) throws {
        var writer = ByteWriter()
        try CompiledModel(model.model, replacing: model).encode(into: &writer)
        try store.sweepBlobs(below: .max)
        try store.apply(
            Transaction(position: store.appliedPosition + 1, content: .model(writer.bytes)))
    }
}

extension Store {
    /// Returns the answer under a whole key.
    fileprivate func save(of key: [UInt8]) throws -> IdempotencyRecord? {
        guard key.count >= 4 else { return nil }
        let uid = key.withUnsafeBytes { $0.bigEndian(0, as: UInt32.self) }
        return try save(by: uid, id: Array(key.dropFirst(4)))
    }
}

import TandemIO
import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Maps that are far too small, at every place where a map can be full.
@Suite(.ownThread) struct MapTests {
    @Test func `law 3: a stream in tiny maps loses nothing, wherever the map is full`() throws {
        for round in UInt64(0)..<6 {
            let seed = seed &+ round
            let tiny = smallMap((48 + 16 * Int(round)) << 10)
            let bench = try StoreBench(model: nil, options: tiny)
            let twin = try StoreBench(model: nil)
            var growths = try bench.applyGrowing { try bench.install(CompiledModel(careModel)) }
            try twin.install(CompiledModel(careModel))
            var stream = LeagueStream(bench, seed: seed)
            for step in 0..<250 {
                let transaction = try stream.next()
                growths += try bench.applyGrowing { try bench.apply(transaction) }
                try twin.apply(transaction)
                switch step % 50 {
                case 17: growths += try bench.checkpointGrowing()
                case 33: growths += try bench.leaseGrowing()
                case 49:
                    try bench.reopen()
                    growths += try bench.replayGrowing()
                default: break
                }
                if step == 150 {
                    let later = try CompiledModel(migrated, replacing: try twin.model)
                    growths += try bench.applyGrowing { try bench.install(later) }
                    try twin.install(later)
                }
            }
            growths += try bench.checkpointGrowing()
            #expect(growths > 2, "seed \(seed)")
            #expect(try bench.everythingButMeta() == twin.everythingButMeta(), "seed \(seed)")
            #expect(try bench.store.check().findings == [], "seed \(seed)")
        }
    }

    /// The league with another attribute and index.
    private var migrated: Model {
        var model = careModel
        model.entities["Player"]?.attributes["age"] = Attribute("age", .int, default: .int(20))
        model.entities["Player"]?.indexes.append(["age"])
        return model
    }

    @Test func `readers are counted, and how far they hold pages back`() throws {
        let bench = try StoreBench.league(10, seed: seed)
        #expect(bench.store.readers == StoreReaders(count: 0, oldestLag: 0))
        let reader = try bench.store.environment.begin(readOnly: true)
        for number in UInt64(900)..<904 {
            try bench.apply([try bench.insert("Tag", number, [:])])
            try bench.store.checkpoint()
        }
        #expect(bench.store.readers == StoreReaders(count: 1, oldestLag: 4))
        #expect(try bench.store.checkReaders() == 0)
        reader.abort()
        #expect(bench.store.readers.count == 0)
    }

    @Test func `a reader's copy follows a map that grew after it was opened`() throws {
        let bench = try StoreBench(model: careModel, options: smallMap(256 << 10))
        try bench.store.checkpoint()
        let reader = try Store.openForReading(path: bench.scratch.path)
        defer { reader.close() }
        _ = try reader.stateHash()
        for _ in 0..<3 { try bench.store.grow() }
        var number: UInt64 = 900
        while bench.store.usage.usedBytes <= reader.usage.mapBytes {
            try bench.apply([try bench.insert("Tag", number, [:])])
            if number % 256 == 0 { try bench.store.checkpoint() }
            if number % 16 == 0 { try bench.store.checkpoint() }
            number += 1
        }
        try bench.store.checkpoint()
        let copy = bench.scratch.path + "/copy"
        try RealFileSystem().createDirectory(copy, mode: 0o700)
        try reader.copyCheckpoint(to: copy + "/data.mdb")
        let copied = try Store.openForReading(path: copy, isPrivate: true)
        defer { copied.close() }
        #expect(copied.appliedPosition == bench.store.appliedPosition)
        #expect(try copied.check().isClean)
    }

    @Test func `a store opened for reading reads and does not write`() throws {
        let bench = try StoreBench.league(30, seed: seed)
        let kept = try dump(bench.store)
        bench.store.close()
        let before = try readFile(bench.scratch.path + "/data.mdb")
        let reader = try Store.openForReading(path: bench.scratch.path)
        #expect(reader.isReadOnly)
        #expect(try dump(reader) == kept)
        #expect(try reader.check().isClean)
        #expect(throws: StoreError.self) { _ = try reader.leaseNumbers(1) }
        reader.close()
        #expect(try readFile(bench.scratch.path + "/data.mdb") == before)
        #expect(throws: StoreError.self) {
            _ = try Store.openForReading(path: bench.scratch.path + "/none")
        }
    }
}

extension StoreBench {
    /// Applies, growing the map and replaying as often as it takes; returns how often that was.
    func applyGrowing(_ body: () throws -> Void) throws -> Int {
        guard try fillsMap(body) else { return 0 }
        try store.grow()
        return 1 + (try replayGrowing())
    }

    func replayGrowing() throws -> Int {
        var growths = 0
        while store.appliedPosition < UInt64(log.count) {
            let next = log[Int(store.appliedPosition)]
            guard try fillsMap({ try store.apply(next) }) else { continue }
            growths += 1
            try store.grow()
        }
        return growths
    }

    func leaseGrowing() throws -> Int {
        var growths = 0
        while try fillsMap({ _ = try store.leaseNumbers(100) }) {
            growths += 1
            try store.grow()
            growths += try replayGrowing()
        }
        return growths
    }
}

import TandemModel
import TestSupport
import Testing

@testable import TandemStore

/// Rows cached in memory, which any change or move of the row in LMDB must invalidate.
@Suite(.ownThread) struct CachedRowTests {
    /// Compares the store's answers for every number, with cached rows and without.
    private func compare(_ bench: StoreBench, _ what: String) throws {
        let model = try bench.model
        let numbers = 1..<max(2, bench.store.nextNumber)
        let objects = try numbers.compactMap { number in
            try bench.store.entity(ofNumber: number).map {
                ObjectReference(tag: $0, number: number)
            }
        }
        let kept = try objects.map { try bench.store.stored($0) }
        let read = try objects.map { try bench.storedInTable($0) }
        #expect(kept == read, "\(what), position \(bench.store.appliedPosition)")
        for stored in kept {
            guard let stored, let entity = model.entity(tagged: stored.object.tag) else { continue }
            #expect(stored.row.modelVersion == model.version && stored.row.isValid(for: entity))
        }
    }

    @Test func `law 6: no cached row outlives a revert, a migration or a crash`() throws {
        for round in UInt64(0)..<3 {
            let seed = seed &+ round
            var random = SplitMix64(seed: seed)
            let bench = try StoreBench(model: careModel)
            var reverts = 0
            var stream = LeagueStream(bench, seed: seed)
            for step in 0..<160 {
                let transaction = try stream.next()
                try bench.apply(transaction)
                if step % 40 == 19 { try bench.store.checkpoint() }
                if Int.random(in: 0..<16, using: &random) == 0 {
                    reverts += 1
                    try bench.revertAndReplay()
                }
                if step % 40 == 39 {
                    try bench.reopen()
                    try bench.replayAll()
                }
                if step == 80 {
                    var model = careModel
                    model.entities["Player"]?.attributes["age"] = Attribute(
                        "age", .int, default: .int(20))
                    let later = try CompiledModel(model, replacing: try bench.model)
                    try bench.install(later)
                    try bench.revertAndReplay()
                }
                if step % 8 == 0 || step == 81 { try compare(bench, "seed \(seed) step \(step)") }
            }
            #expect(reverts > 1, "seed \(seed)")
        }
    }

    @Test func `a migration gives just written rows their new layout`() throws {
        let bench = try StoreBench()
        try bench.apply([try bench.insert("Tag", 1, ["label": .string("a")])])
        try compare(bench, "before")
        var model = leagueModel
        model.entities["Tag"]?.attributes["aim"] = Attribute("aim", .int, default: .int(7))
        try bench.install(CompiledModel(model, replacing: try bench.model))
        try compare(bench, "after")
        let tag = try bench.entity("Tag")
        let row = try #require(try bench.store.stored(try bench.reference("Tag", 1))).row
        #expect(row.uncheckedValue(try #require(tag.slot(of: "aim")), in: tag) == .int(7))
        #expect(row.uncheckedValue(try #require(tag.slot(of: "label")), in: tag) == .string("a"))
    }

    @Test func `a link that is changed from the other side is in both rows, cached or not`() throws
    {
        let bench = try StoreBench(model: careModel)
        let (team, ground) = (try bench.reference("Team", 1), try bench.reference("Ground", 2))
        try bench.apply([
            try bench.insert("Team", 1, ["ground": .reference(ground)]),
            try bench.insert("Ground", 2, ["home": .reference(team)]),
            try bench.insert("Ground", 3, [:]),
        ])
        let other = try bench.reference("Ground", 3)
        // The team moves to the other ground: three rows change.
        try bench.apply([
            try bench.update("Team", 1, ["ground": .reference(other)]),
            try bench.update("Ground", 2, ["home": .null]),
            try bench.update("Ground", 3, ["home": .reference(team)]),
        ])
        try compare(bench, "taken over")
        // A link outside the rows changes no row and no version.
        let (player, before) = (
            try bench.reference("Player", 4), try bench.store.stored(team)
        )
        try bench.apply([
            try bench.insert("Player", 4, ["team": .reference(team)]),
            try bench.touch("Team", 1, "players", added: [player]),
        ])
        #expect(try bench.store.stored(team) == before)
        #expect(try bench.members("Team", 1, "players") == [4])
        try compare(bench, "joined")
        #expect(try bench.store.check().findings == [])
    }

    @Test func `a replaced content is counted down by the row that had it`() throws {
        let bench = try StoreBench(model: careModel)
        let contents = [CheckTests.icon, CheckTests.unused]
        try bench.apply(
            Transaction(
                content: .objects([
                    try bench.insert("Tag", 1, ["icon": .blob(contents[0].reference)])
                ]), blobs: [contents[0]]))
        for step in 1...6 {
            let content = contents[step % 2]
            let isThere = try bench.store.hasContent(of: content.reference)
            try bench.apply(
                Transaction(
                    content: .objects([
                        try bench.update("Tag", 1, ["icon": .blob(content.reference)])
                    ]), blobs: isThere ? [] : [content]))
            // In every other step, the row is read from LMDB instead of the cache.
            if step % 2 == 0 { bench.store.forgetCached() }
            if step == 3 { try bench.store.checkpoint() }
            try compare(bench, "step \(step)")
            #expect(try bench.store.check().findings == [], "step \(step)")
            #expect(try bench.store.content(of: content.reference) == content.content)
        }
        try bench.apply([try bench.update("Tag", 1, ["icon": .null])])
        try compare(bench, "emptied")
        #expect(try bench.store.check().findings == [])
    }
}

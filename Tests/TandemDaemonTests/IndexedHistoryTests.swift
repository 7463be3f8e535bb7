import TandemIO
import TandemJournal
import TandemModel
import TandemQuery
import TandemWire
import TestSupport
import Testing

@testable import TandemDaemon

/// Histories answered with the indexes of the journal's segments, compared with a full scan.
@Suite(.ownThread) struct IndexedHistoryTests {
    private static let entities = ["Node", "Leaf", "Badge", "Tag", "Group"]
    private static let texts = [
        "Node": "name", "Leaf": "name", "Badge": "text", "Tag": "label", "Group": "title",
    ]

    /// Saves, changes and deletes objects until the journal has seven segments.
    private func fill(_ bench: CommitBench, _ random: inout SeededGenerator) throws {
        var known: [(entity: String, number: UInt64)] = []
        var next: UInt64 = 1
        while bench.committer.journal.segments.count < 7 {
            let run = Int(next / 30)
            let isOld = !known.isEmpty && Int.random(in: 0..<3, using: &random) == 0
            let text = PropertyValue.string(
                String(repeating: "x", count: Int.random(in: 0...500, using: &random)))
            guard isOld else {
                // Runs of few entities, so that some segments lack some of them.
                let entity = Self.entities[(run + Int.random(in: 0...1, using: &random)) % 5]
                try bench.save([
                    try bench.insert(entity, next, [Self.texts[entity] ?? "": text])
                ])
                known.append((entity, next))
                next += 1
                continue
            }
            let index = Int.random(in: 0..<known.count, using: &random)
            let (entity, number) = known[index]
            if Int.random(in: 0..<5, using: &random) == 0 {
                try bench.save([try bench.delete(entity, number)])
                known.remove(at: index)
            } else {
                try bench.save([
                    try bench.update(entity, number, [Self.texts[entity] ?? "": text])
                ])
            }
        }
    }

    private func request(
        _ bench: CommitBench, _ log: [EncodedTransaction], _ random: inout SeededGenerator
    ) throws -> HistoryRequest {
        var condition = HistoryCondition()
        let entity = try bench.entity(Self.entities.randomElement(using: &random) ?? "Node")
        let time = log.randomElement(using: &random)?.time ?? 0
        switch Int.random(in: 0..<8, using: &random) {
        case 0: condition.since = time
        case 1: condition.until = time
        case 2: (condition.since, condition.until) = (time, time)
        case 3, 4:
            condition.objects = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                ObjectReference(tag: entity.tag, number: .random(in: 1...150, using: &random))
            }
        case 5:
            let slot = try #require(entity.slot(of: Self.texts[entity.name] ?? ""))
            condition.properties = [ObservedProperty(entity: entity.tag, slot: slot)]
            condition.modelVersion = try bench.model.version
        case 6: condition.isOfModels = true
        default: break
        }
        let isOfEntity = Int.random(in: 0..<2, using: &random) == 0
        return HistoryRequest(
            from: .random(in: 0..<UInt64(log.count), using: &random),
            interests: isOfEntity ? entity.descendants : [],
            limit: .random(in: 1...40, using: &random), condition: condition)
    }

    /// Returns the transactions of all pages of a history request, and the number of pages.
    private func ask(
        _ client: Peer, _ request: HistoryRequest, through end: UInt64
    ) throws -> (found: [EncodedTransaction], pages: Int) {
        var (found, pages) = ([EncodedTransaction](), 0)
        var request = request
        while request.from < end {
            guard case .history(let page) = try client.ask(.history(request)) else {
                throw TandemError(.usage, "an unexpected answer about history")
            }
            found += page.transactions
            pages += 1
            guard page.position > request.from else { break }
            request.from = page.position
        }
        return (found, pages)
    }

    @Test(arguments: 0..<3 as Range<UInt64>)
    func `answers are the same with all indexes, with some missing and with damaged ones`(
        _ round: UInt64
    ) throws {
        let seed = seed &+ round
        var random = SeededGenerator(seed: seed)
        let bench = try EngineBench(segmentBytes: 24 << 10, indexes: true)
        try fill(bench.bench, &random)
        let log = try bench.bench.transactions(from: 1).map { $0.encoded() }
        let end = bench.position.number
        let disk = bench.bench.disk
        let paths = try disk.list("/journal").filter { $0.hasSuffix(".index") }
            .map { "/journal/" + $0 }
        #expect(paths.count == 6)
        let whole = try #require(disk.bytes(of: paths[0]))
        for state in 0..<4 {
            switch state {
            case 1: try bench.crash()
            case 2: try disk.remove(paths[2])
            case 3:
                var bytes = try #require(disk.bytes(of: paths[0]))
                bytes[5_000] ^= 1
                disk.install(bytes, at: paths[0])
            default: break
            }
            let client = try bench.client()
            for _ in 0..<25 {
                let request = try request(bench.bench, log, &random)
                let filter = HistoryMatcher(
                    request, modelPosition: bench.bench.store.modelPosition)
                let wanted = try log[Int(request.from)...].compactMap {
                    try filter.filtered($0)
                }
                let answer = try ask(client, request, through: end)
                #expect(
                    answer.found == wanted, "TANDEM_SEED=\(seed), state \(state): \(request)")
            }
        }
        // The index that a request found damaged has been rebuilt in the meantime.
        #expect(bench.bench.committer.journal.indexing.made > 0)
        #expect(try #require(disk.bytes(of: paths[0])) == whole)
    }

    @Test
    func
        `law 8: read indexes and looked-up keys count toward the budget, and the request continues`()
        throws
    {
        var limits = DaemonLimits()
        limits.sliceReads = 200
        let bench = try EngineBench(limits: limits, segmentBytes: 6 << 10, indexes: true)
        var (number, rare) = (UInt64(1), [UInt64]())
        let text = PropertyValue.string(String(repeating: "x", count: 2_000))
        while bench.bench.committer.journal.segments.count < 40 {
            let isRare = number.isMultiple(of: 25)
            let change = try bench.bench.insert(
                isRare ? "Tag" : "Node", number, [isRare ? "label" : "name": text])
            let position = try bench.bench.save([change]).position
            if isRare { rare.append(position) }
            number += 1
        }
        let segments = bench.bench.committer.journal.segments.dropLast()
        let end = try #require(segments.last).last
        let client = try bench.client()
        let tag = try bench.bench.entity("Tag").tag
        let byEntity = HistoryRequest(from: 2, to: end, interests: [tag])
        let answer = try ask(client, byEntity, through: end)
        #expect(answer.found.map(\.position) == rare.filter { $0 <= end })
        #expect(answer.pages > 1 && answer.pages < 10)
        // For this many objects, one answer covers a segment or two.
        let objects = (1...300 as ClosedRange<UInt64>).map {
            ObjectReference(tag: tag, number: $0 * 25)
        }
        let byObjects = HistoryRequest(
            from: 2, to: end, condition: HistoryCondition(objects: objects))
        let many = try ask(client, byObjects, through: end)
        #expect(many.found.map(\.position) == rare.filter { $0 <= end })
        #expect(many.pages > segments.count / 2)
    }

    @Test func `after a restart rare changes are found by index, in one answer`() throws {
        var limits = DaemonLimits()
        limits.sliceReads = 160
        let bench = try EngineBench(limits: limits, segmentBytes: 16 << 10, indexes: true)
        var (number, rare) = (UInt64(1), [UInt64]())
        while bench.bench.committer.journal.segments.count < 12 {
            let isRare = number == 40 || number == 300
            let position = try bench.bench.save([
                try bench.bench.insert(isRare ? "Tag" : "Node", number)
            ]).position
            if isRare { rare.append(position) }
            number += 1
        }
        try bench.crash()
        // Only sealed segments: the newest segment has to be read once.
        let segments = bench.bench.committer.journal.segments
        let end = try #require(segments.dropLast().last).last
        let tag = try bench.bench.entity("Tag")
        let object = ObjectReference(tag: try bench.bench.entity("Node").tag, number: 200)
        let client = try bench.client()
        let byEntity = HistoryRequest(from: 2, to: end, interests: [tag.tag])
        let byObject = HistoryRequest(
            from: 2, to: end, condition: HistoryCondition(objects: [object]))
        let ofModels = HistoryRequest(
            from: 0, to: end, condition: HistoryCondition(isOfModels: true))
        for (request, count) in [(byEntity, 2), (byObject, 1), (ofModels, 1)] {
            let answer = try ask(client, request, through: end)
            #expect(answer.found.count == count && answer.pages == 1)
        }
        #expect(try ask(client, byEntity, through: end).found.map(\.position) == rare)
        #expect(try ask(client, ofModels, through: end).found.map(\.position) == [1])
        // Without the indexes, the request takes many pages.
        let disk = bench.bench.disk
        for name in try disk.list("/journal") where name.hasSuffix(".index") {
            try disk.remove("/journal/" + name)
        }
        #expect(try ask(client, byObject, through: end).pages > 5)
    }
}
